// RawThread: a worker thread behind a port, the yardstick for everything that crosses threads.

import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { RawMessage } from './raw-worker.ts';

export interface RawThread {
  post(message: RawMessage | Uint8Array<ArrayBuffer>): void;
  /** Posts, and resolves with the next answer. One at a time. */
  ask(message: RawMessage | Uint8Array<ArrayBuffer>): Promise<number>;
  close(): Promise<void>;
}

export async function openRawThread(): Promise<RawThread> {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./raw-worker.ts', import.meta.url), {
    workerData: port2,
    transferList: [port2],
  });
  await once(worker, 'online');
  let answer: (value: number) => void = () => undefined;
  port1.on('message', (value: number) => answer(value));
  // Bytes change hands; anything else is copied.
  const post = (message: RawMessage | Uint8Array<ArrayBuffer>): void =>
    port1.postMessage(message, message instanceof Uint8Array ? [message.buffer] : []);
  return {
    post,
    ask: (message) =>
      new Promise((resolve) => {
        answer = resolve;
        post(message);
      }),
    close: async () => {
      port1.close();
      await worker.terminate();
    },
  };
}
