// Worker: the entry point of a worker thread. It puts up the services of the thread and joins the actor system.

import { parentPort, workerData } from 'node:worker_threads';
import { repeatUnreferenced, systemClock } from '../../std/clock.ts';
import { systemRandom } from '../../std/ids.ts';
import { openLog } from '../../std/log.ts';
import { Runtime } from '../runtime.ts';
import { threadExecutor } from '../scheduler.ts';
import { bootThread } from './bootstrap.ts';
import { joinSystem } from './member.ts';
import type { ThreadSeed } from './thread-starter.ts';
import { receiveReadable } from './worker-starter.ts';

const seed = workerData as ThreadSeed;
const log = openLog(seed.bootstrap.logLevel).child({ thread: seed.thread });
/** Node's own monitor is native and outlives what a terminated thread takes with it: a process once died of it. */
const LAG_TICK_MS = 100;
let lagWorstMs = 0;
measureLag();
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
    const worstMs = lagWorstMs;
    lagWorstMs = 0;
    return worstMs;
  },
  receive: receiveReadable,
  close,
  exit: () => process.exit(0),
});
// The port carries the frames; the parent's own channel is only there to keep this thread alive.
parentPort?.on('message', () => undefined);

/** How late each tick is, is how late everything on this thread is. */
function measureLag(): void {
  let lastMs = systemClock.monotonicMs();
  repeatUnreferenced(LAG_TICK_MS, () => {
    const nowMs = systemClock.monotonicMs();
    lagWorstMs = Math.max(lagWorstMs, nowMs - lastMs - LAG_TICK_MS);
    lastMs = nowMs;
  });
}
