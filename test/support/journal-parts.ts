// JournalParts: journals put together from their parts, for tests that say when compaction works, and how soon it thinks that
// there is something to do.

import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { CommitQueue } from '../../src/storage/commit-queue.ts';
import type { Journals } from '../../src/storage/contract.ts';
import { storeIn } from '../../src/storage/data-folder.ts';
import { Environment } from '../../src/storage/environment.ts';
import { StoredJournals } from '../../src/storage/journal.ts';
import { type CompactionLimits, JournalCompaction } from '../../src/storage/journal-compaction.ts';
import { JournalIndex } from '../../src/storage/journal-index.ts';

export interface JournalParts {
  readonly environment: Environment;
  readonly queue: CommitQueue;
  readonly compaction: JournalCompaction;
  journals<Value>(name: string): Journals<Value>;
  /** Pages that the log has. */
  pages(): number;
  close(): Promise<void>;
}

/** Works through everything at the first occasion. */
export const EAGER = { positionsRipe: 4, logPagesMax: 3, logBytesMax: 1_000_000, positionsMax: 20 };
/** Leaves the log as it is, unless a journal is sealed. */
export const LAZY = {
  positionsRipe: Infinity,
  logPagesMax: Infinity,
  logBytesMax: Infinity,
  positionsMax: 10_000,
};

export function openJournalParts(
  directory: string,
  limits: CompactionLimits & { readonly positionsRipe: number } = LAZY,
): JournalParts {
  mkdirSync(directory, { recursive: true });
  const environment = new Environment(storeIn(directory));
  const queue = new CommitQueue(environment);
  const index = new JournalIndex(environment, limits.positionsRipe);
  const compaction = new JournalCompaction(environment, index, queue, limits);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await compaction.stop();
    await queue.close();
    await environment.close();
  };
  const parts: JournalParts = {
    environment,
    queue,
    compaction,
    journals: <Value>(name: string) => new StoredJournals<Value>(name, queue, index, environment),
    pages: () => Math.max(0, environment.sizeOf('log').keys - 1),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
  onTestFinished(() => parts.close());
  return parts;
}
