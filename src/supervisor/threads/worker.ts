// Worker: the entry point of a worker thread. It joins the actor system, takes orders, and leaves with a handshake.
// O1 `ready` is sent once the bootstrap's services are up and the modules to preload are in; a spare waits there.
// O2 An exit without `goodbye` is a crash, whatever its code (see thread-pool.ts).

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../std/clock.ts';
import { systemRandom } from '../../std/ids.ts';
import { openLog } from '../../std/log.ts';
import type { Address } from '../protocol.ts';
import { MAIN_THREAD, Runtime } from '../runtime.ts';
import { threadExecutor } from '../scheduler.ts';
import { bootThread, type ThreadBootstrap } from './bootstrap.ts';
import { Remote, type ThreadSource } from './remote.ts';
import type { SignalFrame, ThreadHealth } from './wire.ts';

export interface WorkerSeed {
  readonly thread: number;
  readonly port: MessagePort;
  readonly bootstrap: ThreadBootstrap;
  readonly names: readonly (readonly [string, Address])[];
}

const seed = workerData as WorkerSeed;
const log = openLog(seed.bootstrap.logLevel).child({ thread: seed.thread });
const lag = monitorEventLoopDelay({ resolution: 10 });
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
const noThreads: ThreadSource = {
  threadFor: (name) => {
    throw new Error(`only the main thread places actors on a thread by name (${name})`);
  },
  giveUpStarting: () => undefined,
};
const remote = new Remote(runtime, noThreads, onSignal);
for (const [name, address] of seed.names) runtime.registry.follow(name, address);
const main = remote.join(MAIN_THREAD, seed.port);
main.signal({ kind: 'ready' });
// The port carries the frames; the parent's own channel is only there to keep this thread alive.
parentPort?.on('message', () => undefined);

function onSignal(frame: SignalFrame): void {
  switch (frame.kind) {
    case 'connect':
      remote.join(frame.thread, frame.port);
      return;
    case 'thread_gone':
      remote.threadLost(frame.thread, frame.message);
      return;
    case 'ping':
      main.signal({ kind: 'pong', health: health() });
      remote.flush();
      return;
    case 'shutdown':
      void leave();
      return;
    default:
      return;
  }
}

function health(): ThreadHealth {
  const loopLagMs = lag.max / 1e6;
  lag.reset();
  return {
    actors: runtime.cells.size,
    heapUsedBytes: process.memoryUsage().heapUsed,
    loopLagMs,
    counters: { ...runtime.counters },
    queued: runtime.queued(),
  };
}

async function leave(): Promise<void> {
  try {
    await close();
  } catch (error) {
    log.error({ error: String(error) }, 'a thread could not close its services');
  }
  runtime.deadlines.close();
  main.signal({ kind: 'goodbye' });
  main.flush();
  process.exit(0);
}
