// Workload: what runs append. Each journal waits for its commit before it goes on, as a run does.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Appends, Event } from './stores.ts';

/** About a hundred bytes. */
export function chunkEvent(seq: number): Event {
  const text = `word${(seq * 7_919) % 1_000} and ${seq % 10}`;
  return [
    'agent_chunk',
    JSON.stringify({ type: 'chunk', agent: 'main', text, index: seq, at: 1_760_000_000 + seq }),
  ];
}

export function chunkEvents(firstSeq: number, count: number): Event[] {
  return Array.from({ length: count }, (_, index) => chunkEvent(firstSeq + index));
}

export const journalId = (index: number, of = 'run'): string =>
  `${of}_${((index * 2_654_435_761) >>> 0).toString(16).padStart(8, '0')}_0123456789ab`;

/** `events` in all, over all journals, `together` in one append. */
export async function appendInterleaved(
  store: Appends,
  options: {
    readonly journals: number;
    readonly events: number;
    readonly together: number;
    readonly of?: string;
  },
): Promise<void> {
  const { journals, events, together, of } = options;
  const each = Math.ceil(events / journals);
  await Promise.all(
    Array.from({ length: journals }, async (_, index) => {
      const id = journalId(index, of);
      for (let seq = 1; seq <= each; seq += together) {
        await store.append(id, seq, chunkEvents(seq, Math.min(together, each - seq + 1)));
      }
    }),
  );
}

export async function inFolder<Result>(work: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export interface Spent {
  readonly ms: number;
  /** Processor time of the whole process, the engine's threads included. */
  readonly processorMs: number;
}

export async function spent(work: () => Promise<void>): Promise<Spent> {
  const processor = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const ms = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(processor);
  return { ms, processorMs: (user + system) / 1000 };
}

/** Of this thread: what it has worked, whatever else the machine did meanwhile. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
