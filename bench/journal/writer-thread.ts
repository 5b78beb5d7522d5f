// A thread that appends when it is told, to the store that another thread has opened.

import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { openKeyed, openLog } from './stores.ts';
import { appendInterleaved } from './workload.ts';

export interface WriterData {
  readonly directory: string;
  readonly layout: 'log' | 'keyed';
  readonly journals: number;
  readonly events: number;
}

const { directory, layout, journals, events } = workerData as WriterData;
const port = parentPort as NonNullable<typeof parentPort>;
const store = layout === 'log' ? openLog(directory) : openKeyed(directory);
const told = once(port, 'message');
port.postMessage('ready');
await told;
await appendInterleaved(store, { journals, events, together: 1, of: 'other' });
port.postMessage('done');
await store.close();
port.close();
