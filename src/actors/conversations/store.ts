// Store: the tables of conversations, and every change of them as one transaction.
// S1 A change reads and writes inside one write, so that handlers which overlap cannot lose an update.
// S2 Lists come from the indexes of the records and totals from counters: no list reads a row.
// S3 The run that appended is remembered for as long as its conversation: appending again finds its first answer.
// S4 A deletion takes the record away at once and leaves its generation to be cleared in bounded steps. The same id may
//    begin anew meanwhile, under the next generation, and never meets the old rows. What is left to clear survives a crash.

import type { Key, Storage, Transaction } from '../../storage/contract.ts';
import { type ConversationRecord, type KeptRow, type MetaChange, newRecord, withRows } from './record.ts';
import { type Generation, openTranscripts, type Transcripts } from './transcript.ts';
import { EMPTY_MEMORY, filledParts, type WorkingMemory } from './working-memory.ts';

/** Rows of a deleted conversation that go in one transaction: with their texts some ten milliseconds of this thread. */
export const CLEARED_PER_STEP_MAX = 100;

export interface PageRequest {
  readonly channel: string | undefined;
  readonly includeArchived: boolean;
  readonly offset: number;
  readonly limit: number;
}

export interface Page {
  readonly entries: readonly { readonly conversationId: string; readonly record: ConversationRecord }[];
  readonly total: number;
}

export interface Addition {
  readonly conversationId: string;
  readonly runId: string;
  readonly channel: string;
  readonly rows: readonly [KeptRow, ...KeptRow[]];
}

export interface Removed {
  /** What is left to clear; undefined when there was no such conversation. */
  readonly generation: Generation | undefined;
  readonly rowCount: number;
  /** The parts of its working memory that held something. */
  readonly sidecars: readonly string[];
}

export interface ConversationStore {
  readonly transcripts: Transcripts;
  find(conversationId: string): ConversationRecord | undefined;
  page(request: PageRequest): Page;
  /** C1, C2. Creates the conversation when it is new; answers the index of the first row. */
  append(addition: Addition): Promise<number>;
  /** S3. Whether that run has appended to the conversation as it is. */
  holdsRun(conversationId: string, runId: string): boolean;
  /** False when there is no such conversation. */
  changeMeta(conversationId: string, change: MetaChange): Promise<boolean>;
  memory(conversationId: string): WorkingMemory;
  /** `rowCount` is the index that the next row of the conversation will get. */
  changeMemory(
    conversationId: string,
    change: (memory: WorkingMemory, rowCount: number) => WorkingMemory,
  ): Promise<WorkingMemory>;
  remove(conversationId: string): Promise<Removed>;
  /** What deletions have left to clear. */
  removedGenerations(): Generation[];
  /** Clears one step's worth. True when nothing is left. */
  clearStep(generation: Generation): Promise<boolean>;
}

interface Counts {
  readonly live: number;
  readonly archived: number;
}

/** S2. One index for each of the four lists that a client can ask for. */
const RECORD_INDEXES = {
  all: (record: ConversationRecord) => [record.lastActivityMs],
  live: (record: ConversationRecord) => (record.archived ? null : [record.lastActivityMs]),
  all_of_channel: (record: ConversationRecord) => [record.channel, record.lastActivityMs],
  live_of_channel: (record: ConversationRecord) =>
    record.archived ? null : [record.channel, record.lastActivityMs],
};

export function openConversationStore(storage: Storage): ConversationStore {
  const records = storage.table<ConversationRecord, typeof RECORD_INDEXES>({
    name: 'conversations',
    indexes: RECORD_INDEXES,
  });
  const counts = storage.table<Counts>({ name: 'conversation_counts' });
  /** [conversation, generation, run] gives the index of the run's first row. */
  const runs = storage.table<number>({ name: 'conversation_runs' });
  const memories = storage.table<WorkingMemory>({ name: 'conversation_memories' });
  /** The generations of a conversation that are left to clear, oldest first. */
  const removals = storage.table<readonly number[]>({ name: 'conversation_removals' });
  const transcripts = openTranscripts(storage, (conversationId) => records.get(conversationId));

  const count = (tx: Transaction, record: ConversationRecord, difference: 1 | -1): void => {
    for (const key of [ALL_CHANNELS, channelKey(record.channel)]) {
      const { live, archived } = tx.get(counts, key) ?? { live: 0, archived: 0 };
      const next = record.archived
        ? { live, archived: archived + difference }
        : { live: live + difference, archived };
      if (next.live + next.archived === 0) tx.remove(counts, key);
      else tx.put(counts, key, next);
    }
  };

  /** S4. */
  const freshGeneration = (tx: Transaction, conversationId: string): number =>
    (tx.get(removals, conversationId)?.at(-1) ?? -1) + 1;

  return {
    transcripts,

    find: (conversationId) => records.get(conversationId),

    page({ channel, includeArchived, offset, limit }) {
      const { live, archived } =
        counts.get(channel === undefined ? ALL_CHANNELS : channelKey(channel)) ?? NONE;
      const total = includeArchived ? live + archived : live;
      // Skipping costs a step each: no further than there are conversations.
      const range = { reverse: true, limit, offset: Math.min(offset, total) };
      const found =
        channel === undefined
          ? records.by(includeArchived ? 'all' : 'live', range)
          : records.by(includeArchived ? 'all_of_channel' : 'live_of_channel', { ...range, prefix: channel });
      const entries = Array.from(found, ({ key, value }) => ({
        conversationId: key as string,
        record: value,
      }));
      return { entries, total };
    },

    holdsRun(conversationId, runId) {
      const record = records.get(conversationId);
      return record !== undefined && runs.has([conversationId, record.generation, runId]);
    },

    append({ conversationId, runId, channel, rows }) {
      return storage.write('flushed', (tx) => {
        const before = tx.get(records, conversationId);
        const record = before ?? newRecord(freshGeneration(tx, conversationId), channel, rows[0].atMs);
        const generation: Generation = [conversationId, record.generation];
        const repeated = tx.get(runs, [...generation, runId]);
        if (repeated !== undefined) return repeated; // S3

        if (before === undefined) count(tx, record, 1);
        tx.put(records, conversationId, withRows(record, rows));
        tx.put(runs, [...generation, runId], record.rowCount);
        transcripts.add(tx, generation, record.rowCount, rows, record.channel);
        return record.rowCount;
      });
    },

    changeMeta(conversationId, change) {
      return storage.write('flushed', (tx) => {
        const record = tx.get(records, conversationId);
        if (record === undefined) return false;
        const changed = { ...record, ...change };
        count(tx, record, -1);
        count(tx, changed, 1);
        tx.put(records, conversationId, changed);
        return true;
      });
    },

    memory: (conversationId) => memories.get(conversationId) ?? EMPTY_MEMORY,

    changeMemory(conversationId, change) {
      return storage.write('flushed', (tx) => {
        const rowCount = tx.get(records, conversationId)?.rowCount ?? 0;
        const changed = change(tx.get(memories, conversationId) ?? EMPTY_MEMORY, rowCount);
        if (filledParts(changed).length === 0) tx.remove(memories, conversationId);
        else tx.put(memories, conversationId, changed);
        return changed;
      });
    },

    remove(conversationId) {
      return storage.write('flushed', (tx) => {
        const record = tx.get(records, conversationId);
        const sidecars = filledParts(tx.get(memories, conversationId) ?? EMPTY_MEMORY);
        tx.remove(memories, conversationId);
        if (record === undefined) return { generation: undefined, rowCount: 0, sidecars };

        const generation: Generation = [conversationId, record.generation];
        count(tx, record, -1);
        tx.remove(records, conversationId);
        tx.put(removals, conversationId, [...(tx.get(removals, conversationId) ?? []), record.generation]);
        return { generation, rowCount: record.rowCount, sidecars };
      });
    },

    removedGenerations: () =>
      Array.from(removals.range()).flatMap(({ key, value }) =>
        value.map((generation) => [key as string, generation] as const),
      ),

    clearStep(generation) {
      return storage.write('committed', (tx) => {
        const [conversationId, number] = generation;
        const toClear = tx.get(removals, conversationId) ?? [];
        // Somebody else was faster, and the number may be that of a conversation that has begun since.
        if (!toClear.includes(number)) return true;
        if (transcripts.clear(tx, generation, CLEARED_PER_STEP_MAX) === CLEARED_PER_STEP_MAX) return false;
        const cleared = [...tx.range(runs, { prefix: generation, limit: CLEARED_PER_STEP_MAX })];
        for (const { key } of cleared) tx.remove(runs, key);
        if (cleared.length === CLEARED_PER_STEP_MAX) return false;
        const left = toClear.filter((other) => other !== number);
        if (left.length === 0) tx.remove(removals, conversationId);
        else tx.put(removals, conversationId, left);
        return true;
      });
    },
  };
}

const NONE: Counts = { live: 0, archived: 0 };
const ALL_CHANNELS: Key = ['all'];

function channelKey(channel: string): Key {
  return ['channel', channel];
}
