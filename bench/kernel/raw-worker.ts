// RawWorker: the other side of the yardsticks for threads: no actors, only a port.

import { type MessagePort, workerData } from 'node:worker_threads';
import { unpack } from 'msgpackr';

export type RawMessage =
  | { readonly kind: 'tick'; readonly id: number }
  | { readonly kind: 'taken' }
  | { readonly kind: 'increment'; readonly n: number };

const port = workerData as MessagePort;
let count = 0;
port.on('message', (message: RawMessage | Uint8Array) => {
  if (message instanceof Uint8Array) {
    for (const one of unpack(message) as readonly RawMessage[]) handle(one);
  } else handle(message);
});

function handle(message: RawMessage): void {
  switch (message.kind) {
    case 'tick':
      count += 1;
      return;
    case 'taken':
      port.postMessage(count);
      count = 0;
      return;
    case 'increment':
      port.postMessage(message.n + 1);
      return;
  }
}
