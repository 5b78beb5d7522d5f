// Stores: journals as Troupe has them, from their parts so that the bench says when they are compacted; and the layout that they
// had before, one record for each append in a tree keyed by journal, as far as writing goes.

import { mkdirSync } from 'node:fs';
import { encodeValue } from '../../src/storage/codec.ts';
import { CommitQueue } from '../../src/storage/commit-queue.ts';
import type { Durability, Journals } from '../../src/storage/contract.ts';
import { storeIn } from '../../src/storage/data-folder.ts';
import { type Change, Environment } from '../../src/storage/environment.ts';
import { StoredJournals } from '../../src/storage/journal.ts';
import { JournalCompaction } from '../../src/storage/journal-compaction.ts';
import { framed } from '../../src/storage/journal-frames.ts';
import { JournalIndex } from '../../src/storage/journal-index.ts';
import { encodeKey } from '../../src/storage/key.ts';

const NAME = 'run-events';

/** As a run's journal has them. */
export type Event = readonly [name: string, data: string];

export interface Appends {
  append(journal: string, firstSeq: number, events: readonly Event[], durability?: Durability): Promise<void>;
}

export interface Store extends Appends {
  /** Pages of the engine that hold journals, in bytes. */
  usedBytes(): number;
  close(): Promise<void>;
}

export interface LogStore extends Store {
  readonly journals: Journals<Event>;
  readonly compaction: JournalCompaction;
}

export function openLog(directory: string): LogStore {
  const environment = openEnvironment(directory);
  const queue = new CommitQueue(environment);
  const index = new JournalIndex(environment);
  const journals = new StoredJournals<Event>(NAME, queue, index, environment);
  const compaction = new JournalCompaction(environment, index, queue);
  return {
    journals,
    compaction,
    append: (...append) => journals.append(...append),
    usedBytes: () => environment.sizeOf('log').bytes + environment.sizeOf('journals').bytes,
    async close() {
      await compaction.stop();
      await queue.close();
      await environment.close();
    },
  };
}

export function openKeyed(directory: string): Store {
  const environment = openEnvironment(directory);
  let waiting: { readonly change: Change; readonly committed: () => void }[] = [];
  let working: Promise<void> | undefined;
  const work = async (): Promise<void> => {
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      await environment.commit({
        unconditional: group.map(({ change }) => change),
        conditions: new Map(),
        conditional: [],
        notes: new Map(),
      });
      for (const { committed } of group) committed();
    }
    working = undefined;
  };
  return {
    append(journal, firstSeq, events) {
      const key = encodeKey([NAME, journal, firstSeq + events.length - 1]);
      const change: Change = { space: 'journals', key, value: framed(events.map(encodeValue)) };
      return new Promise((resolve) => {
        waiting.push({ change, committed: resolve });
        working ??= work();
      });
    },
    usedBytes: () => environment.sizeOf('journals').bytes,
    async close() {
      await working;
      await environment.close();
    },
  };
}

function openEnvironment(directory: string): Environment {
  mkdirSync(directory, { recursive: true });
  return new Environment(storeIn(directory));
}
