// How fast events are committed: by one journal and by many at once, by one thread and by two, beside the layout of before.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Figure, figure } from '../report.ts';
import { openKeyed, openLog } from './stores.ts';
import { appendInterleaved, inFolder, type Spent, spent } from './workload.ts';
import type { WriterData } from './writer-thread.ts';

const LAYOUTS = { log: openLog, keyed: openKeyed } as const;
type Layout = keyof typeof LAYOUTS;

const BY: Readonly<Record<Layout, string>> = { log: 'log', keyed: 'one tree keyed by journal' };

const CASES = [
  { what: '1 journal, 256 events an append', journals: 1, together: 256, threads: 1, target: undefined },
  { what: '1,000 journals, one event an append', journals: 1_000, together: 1, threads: 1, target: 200 },
  { what: '10,000 journals, one event an append', journals: 10_000, together: 1, threads: 1, target: 200 },
  { what: '2 threads, 500 journals each', journals: 500, together: 1, threads: 2, target: 200 },
  { what: '2 threads, 5,000 journals each', journals: 5_000, together: 1, threads: 2, target: 200 },
] as const;

export async function measureAppending(rounds: number, events: number): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const one of CASES) {
    const rates: Record<Layout, number[]> = { log: [], keyed: [] };
    const costs: Record<Layout, number[]> = { log: [], keyed: [] };
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const layout of ['log', 'keyed'] as const) {
        const { ms, processorMs } = await appendOnce(layout, { ...one, events });
        if (round === 0) continue;
        rates[layout].push(events / ms);
        costs[layout].push((processorMs * 1000) / events);
      }
    }
    for (const layout of ['log', 'keyed'] as const) {
      const target = layout === 'log' && one.target !== undefined ? { target: one.target } : {};
      const options = { by: BY[layout], moreIsBetter: true, ...target };
      figures.push(figure(`committed: ${one.what}`, 'k events/s', rates[layout], options));
      figures.push(
        figure(`  processor time of that`, 'µs/event', costs[layout], { by: `${one.what}, ${BY[layout]}` }),
      );
    }
  }
  return figures;
}

interface Case {
  readonly journals: number;
  readonly together: number;
  readonly threads: number;
  readonly events: number;
}

function appendOnce(layout: Layout, { journals, together, threads, events }: Case): Promise<Spent> {
  return inFolder(async (directory) => {
    const store = LAYOUTS[layout](directory);
    const share = { journals, together, events: events / threads };
    if (threads === 1) {
      const result = await spent(() => appendInterleaved(store, share));
      await store.close();
      return result;
    }
    const workerData: WriterData = { directory, layout, journals, events: share.events };
    const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData });
    await once(worker, 'message');
    const exited = once(worker, 'exit');
    const result = await spent(async () => {
      const done = once(worker, 'message');
      worker.postMessage('go');
      await Promise.all([appendInterleaved(store, share), done]);
    });
    await exited;
    await store.close();
    return result;
  });
}
