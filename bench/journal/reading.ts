// What readers and single writers wait while others write: replays of a long journal, reads that find nothing new, flushed appends.

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Figure, figure, quantile } from '../report.ts';
import { type LogStore, openLog } from './stores.ts';
import { chunkEvent, inFolder, journalId, threadMs, turn } from './workload.ts';

const ENTRIES = 5_000;
/** As a reader of a run reads (journal-tail.ts). */
const BATCH = { bytesMax: 16_384, entriesMax: 512 };
const BACKGROUND_JOURNALS = 1_000;
const EVERY_MS = 5;
const EVENTS_AT_ONCE = 100;
const SAMPLES = 200;

interface Replays {
  readonly p99Ms: number;
  /** Of the thread, in the reads alone. */
  readonly workedP99Ms: number;
}

export async function measureReading(rounds: number): Promise<readonly Figure[]> {
  const replays: Record<'log' | 'spans', Replays[]> = { log: [], spans: [] };
  const nothing: number[] = [];
  const flushed: { p50: number[]; p99: number[] } = { p50: [], p99: [] };
  const bare: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await inFolder(async (directory) => {
      const store = openLog(directory);
      const background = writerOf(store);
      background.start();
      for (let seq = 1; seq <= ENTRIES; seq += 10) {
        const ten = Array.from({ length: 10 }, (_, index) => seq + index);
        await Promise.all(ten.map((one) => store.append('long', one, [chunkEvent(one)])));
      }
      replays.log.push(await replay(store));
      nothing.push(await readsOfNothing(store));
      const latencies = await flushedAppends(store);
      flushed.p50.push(quantile(latencies, 0.5));
      flushed.p99.push(quantile(latencies, 0.99));
      bare.push(await syncsP99(directory));
      // While others write there is always something to compact.
      await background.stop();
      await store.journals.seal('long');
      await store.compaction.work();
      background.start();
      replays.spans.push(await replay(store));
      await background.stop();
      await store.close();
    });
  }
  return [
    ...figuresOf(replays.log, 'from 500 pages of the log'),
    ...figuresOf(replays.spans, 'sealed'),
    figure('a read that finds nothing new, mean', 'µs', nothing),
    figure(`a flushed append, p50 of ${SAMPLES}`, 'ms', flushed.p50),
    figure(`a flushed append, p99 of ${SAMPLES}`, 'ms', flushed.p99, { target: 5 }),
    figure(`4 KB written and synced without Troupe, p99 of ${SAMPLES}`, 'ms', bare),
  ];
}

function figuresOf(replays: readonly Replays[], by: string): readonly Figure[] {
  const what = `replay of ${ENTRIES} events in batches, p99 of ${SAMPLES}`;
  return [
    figure(
      what,
      'ms',
      replays.map(({ p99Ms }) => p99Ms),
      { by, target: 40 },
    ),
    figure(
      `${what}, processor time`,
      'ms',
      replays.map(({ workedP99Ms }) => workedP99Ms),
      { by },
    ),
  ];
}

/** 20,000 events a second, into 1,000 journals. */
function writerOf(store: LogStore): { start(): void; stop(): Promise<void> } {
  const lastSeqs = Array.from({ length: BACKGROUND_JOURNALS }, () => 0);
  let next = 0;
  let last: Promise<unknown> = Promise.resolve();
  const write = (): void => {
    const appends: Promise<void>[] = [];
    for (let count = 0; count < EVENTS_AT_ONCE; count += 1) {
      const index = next++ % BACKGROUND_JOURNALS;
      const seq = (lastSeqs[index] ?? 0) + 1;
      lastSeqs[index] = seq;
      appends.push(store.append(journalId(index), seq, [chunkEvent(seq)]));
    }
    last = Promise.all(appends);
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      timer = setInterval(write, EVERY_MS);
    },
    async stop() {
      clearInterval(timer);
      await last;
    },
  };
}

async function replay(store: LogStore): Promise<Replays> {
  const times: number[] = [];
  const worked: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedMs = performance.now();
    let workedMs = 0;
    let cursor = 0;
    while (cursor < ENTRIES) {
      const before = threadMs();
      cursor = store.journals.read('long', cursor, BATCH).at(-1)?.seq ?? Number.NaN;
      workedMs += threadMs() - before;
      await turn();
    }
    if (cursor !== ENTRIES) throw new Error(`a replay ended at ${cursor}`);
    times.push(performance.now() - startedMs);
    worked.push(workedMs);
  }
  return { p99Ms: p99(times), workedP99Ms: p99(worked) };
}

function p99(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.99,
  );
}

async function readsOfNothing(store: LogStore): Promise<number> {
  let ms = 0;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedMs = performance.now();
    for (let reader = 0; reader < 100; reader += 1) store.journals.read('long', ENTRIES);
    ms += performance.now() - startedMs;
    await turn();
  }
  return (ms * 1000) / (SAMPLES * 100);
}

/** What the disk takes, and the machine, at the same moment. */
async function syncsP99(directory: string): Promise<number> {
  const times: number[] = [];
  const file = await open(join(directory, 'bare'), 'w');
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const startedMs = performance.now();
    await file.write(Buffer.alloc(4_096, sample));
    await file.datasync();
    times.push(performance.now() - startedMs);
  }
  await file.close();
  return p99(times);
}

async function flushedAppends(store: LogStore): Promise<readonly number[]> {
  const times: number[] = [];
  for (let sample = 1; sample <= SAMPLES; sample += 1) {
    const startedMs = performance.now();
    await store.append('flushed', sample, [chunkEvent(sample)], 'flushed');
    times.push(performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, 7));
  }
  return times.sort((a, b) => a - b);
}
