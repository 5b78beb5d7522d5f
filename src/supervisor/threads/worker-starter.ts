// WorkerStarter: real threads. One worker a thread, and Node's message channels between them.

import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { errorText } from '../../std/errors.ts';
import { loadBehaviour } from './load-behaviour.ts';
import type { ThreadHooks, ThreadSeed, ThreadStarter } from './thread-starter.ts';
import type { Batch, Port } from './wire.ts';

/** The worker's own module, beside this one: `.ts` in the checkout, `.js` in the published package. */
const WORKER_MODULE = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js',
  import.meta.url,
);

/** What cannot be read is lost with its thread, which has ended (I5 of link.ts). */
export function receiveReadable(port: Port): Batch | undefined {
  for (;;) {
    try {
      return receiveMessageOnPort(port as MessagePort)?.message as Batch | undefined;
    } catch {
      // It is taken from the port all the same.
    }
  }
}

export function workerStarter(): ThreadStarter {
  return {
    channel: () => {
      const { port1, port2 } = new MessageChannel();
      return [port1, port2];
    },
    start: (seed: ThreadSeed, hooks: ThreadHooks) => {
      const worker = new Worker(WORKER_MODULE, {
        workerData: seed,
        transferList: [seed.port as MessagePort],
        resourceLimits: { maxOldGenerationSizeMb: seed.heapMaxMb },
      });
      worker.on('error', (error) => hooks.failed(errorText(error)));
      worker.on('exit', (code) => hooks.exited(code));
      return { terminate: () => void worker.terminate() };
    },
    receive: receiveReadable,
    loadBehaviour,
  };
}
