// What ten thousand live journals cost to keep: on disk, in memory, at the start of a process, and to lay out for reading.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Figure, figure } from '../report.ts';
import { type LogStore, openKeyed, openLog, type Store } from './stores.ts';
import { chunkEvent, inFolder, journalId, spent, threadMs, turn } from './workload.ts';

const JOURNALS = 10_000;

export async function measureKeeping(rounds: number, eventsEach: number): Promise<readonly Figure[]> {
  const events = JOURNALS * eventsEach;
  const ready: number[] = [];
  const readyWorked: number[] = [];
  const memory: number[] = [];
  const bytes: Record<'log' | 'spans' | 'keyed', number[]> = { log: [], spans: [], keyed: [] };
  const compaction = { cost: [] as number[], rates: [] as number[], longest: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    await inFolder(async (directory) => {
      const filled = openLog(directory);
      await fill(filled, eventsEach);
      bytes.log.push(filled.usedBytes() / events);
      await filled.close();

      const before = occupied();
      const startedMs = performance.now();
      const workedMs = threadMs();
      const store = openLog(directory);
      if (store.journals.lastSeq(journalId(0)) !== eventsEach) throw new Error('events are missing');
      ready.push(performance.now() - startedMs);
      readyWorked.push(threadMs() - workedMs);
      memory.push((occupied() - before) / 1024 ** 2);

      await seal(store, 0, JOURNALS / 2);
      const { ms, processorMs } = await spent(() => store.compaction.work());
      compaction.cost.push((processorMs * 1000) / (events / 2));
      compaction.rates.push(events / 2 / ms);
      await seal(store, JOURNALS / 2, JOURNALS);
      const turns = watchTurns();
      await store.compaction.work();
      compaction.longest.push(await turns.stop());
      bytes.spans.push(store.usedBytes() / events);
      await store.close();
    });
    await inFolder(async (directory) => {
      const store = openKeyed(directory);
      await fill(store, eventsEach);
      bytes.keyed.push(store.usedBytes() / events);
      await store.close();
    });
  }
  const size = `${JOURNALS} journals, ${events / 1e6} M events`;
  return [
    figure(`ready after opening: ${size}`, 'ms', ready, { target: 1_000 }),
    figure(`the same, processor time`, 'ms', readyWorked),
    figure(`index in memory: ${size}`, 'MB', memory, { target: 99 }),
    figure('on disk', 'bytes/event', bytes.log, { by: 'log' }),
    figure('on disk', 'bytes/event', bytes.spans, { by: 'spans' }),
    figure('on disk', 'bytes/event', bytes.keyed, { by: 'one tree keyed by journal' }),
    figure('compaction of sealed journals', 'k events/s', compaction.rates, { moreIsBetter: true }),
    figure('compaction of sealed journals, processor time', 'µs/event', compaction.cost),
    figure('longest turn that compaction takes, processor time', 'ms', compaction.longest),
  ];
}

/** One event for each journal, again and again. */
async function fill(store: Store, eventsEach: number): Promise<void> {
  for (let seq = 1; seq <= eventsEach; seq += 1) {
    const event = [chunkEvent(seq)];
    await Promise.all(
      Array.from({ length: JOURNALS }, (_, index) => store.append(journalId(index), seq, event)),
    );
  }
}

async function seal(store: LogStore, from: number, to: number): Promise<void> {
  await Promise.all(
    Array.from({ length: to - from }, (_, index) => store.journals.seal(journalId(from + index))),
  );
}

/** The most that this thread works from one turn of its event loop to the next. */
function watchTurns(): { stop(): Promise<number> } {
  let longestMs = 0;
  let isOver = false;
  const watch = async (): Promise<void> => {
    for (let beforeMs = threadMs(); !isOver; ) {
      await turn();
      const nowMs = threadMs();
      longestMs = Math.max(longestMs, nowMs - beforeMs);
      beforeMs = nowMs;
    }
  };
  const watching = watch();
  return {
    async stop() {
      isOver = true;
      await watching;
      return longestMs;
    },
  };
}

function occupied(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
