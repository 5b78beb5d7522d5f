// Worker: the entry point of a worker thread. It puts up the services of the thread and joins the actor system.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../std/clock.ts';
import { systemRandom } from '../../std/ids.ts';
import { openLog } from '../../std/log.ts';
import { Runtime } from '../runtime.ts';
import { threadExecutor } from '../scheduler.ts';
import { bootThread } from './bootstrap.ts';
import { joinSystem } from './member.ts';
import type { ThreadSeed } from './thread-starter.ts';

const seed = workerData as ThreadSeed;
const log = openLog(seed.bootstrap.logLevel).child({ thread: seed.thread });
const LAG_RESOLUTION_MS = 10;
const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
lag.enable();
const { services, close } = await bootThread(seed.bootstrap);
const runtime = new Runtime({
  thread: seed.thread,
  clock: systemClock,
  random: systemRandom,
  log,
  services,
  executor: threadExecutor,
});
joinSystem(runtime, seed, {
  heapUsedBytes: () => process.memoryUsage().heapUsed,
  loopLagMs: () => {
    // It measures from tick to tick.
    const worstMs = Math.max(0, lag.max / 1e6 - LAG_RESOLUTION_MS);
    lag.reset();
    return worstMs;
  },
  close,
  exit: () => process.exit(0),
});
// The port carries the frames; the parent's own channel is only there to keep this thread alive.
parentPort?.on('message', () => undefined);
