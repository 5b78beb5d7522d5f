// Store: the records of runs, their journals and their steps.

import type { Journals, Storage, Table } from '../../storage/contract.ts';
import type { JournaledEvent } from './events.ts';
import type { ChatRequest, RunOrigin, RunStatus } from './protocol.ts';
import type { RunStep } from './steps.ts';

export interface RunRecord {
  readonly run_id: string;
  readonly user_id: string;
  readonly session_id: string;
  /** Streams are listed; blocking chats and jobs are not. */
  readonly origin: RunOrigin;
  readonly status: RunStatus;
  readonly request: ChatRequest;
  /** How often it was taken up again after its actor was lost. */
  readonly resumes: number;
  /** Its user has cancelled it; written before its host has done so, in case that one is lost. */
  readonly isCancelled?: boolean;
  /** Rises with every acceptance, whatever the wall clock does. Missing in what an earlier version wrote: then the time says it. */
  readonly number?: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

const READ_BYTES = 1_000_000;

type RunIndexes = {
  /** Running ones in the order of their acceptance, for recovery; settled ones by when they ended, for expiry. */
  readonly byStatus: (record: RunRecord) => readonly [string, number];
  readonly byUser: (record: RunRecord) => readonly [string, number] | null;
};

export interface RunStore {
  readonly records: Table<RunRecord, keyof RunIndexes & string>;
  readonly journals: Journals<JournaledEvent>;
  readonly steps: Journals<RunStep>;
}

export function openRunStore(storage: Storage): RunStore {
  return {
    records: storage.table<RunRecord, RunIndexes>({
      name: 'runs',
      indexes: {
        byStatus: (record) =>
          record.status === 'running' ? ['running', numberOf(record)] : ['settled', record.updatedAtMs],
        byUser: (record) => (record.origin === 'stream' ? [record.user_id, record.createdAtMs] : null),
      },
    }),
    journals: storage.journals<JournaledEvent>('run-events'),
    steps: storage.journals<RunStep>('run-steps'),
  };
}

/** In the order of their acceptance. Those that are settled meanwhile drop out behind the reader. */
export function* unfinished({ records }: RunStore): Iterable<RunRecord> {
  for (const { value } of records.by('byStatus', { prefix: ['running'] })) yield value;
}

/** Nobody that is unfinished was accepted later; 0 when nobody is. */
export function lastNumber({ records }: RunStore): number {
  const [last] = records.by('byStatus', { prefix: ['running'], reverse: true, limit: 1 });
  return last === undefined ? 0 : numberOf(last.value);
}

function numberOf({ number, updatedAtMs }: RunRecord): number {
  return number ?? updatedAtMs;
}

/** The events of a run behind a number, all of them. */
export function readEvents(store: RunStore, runId: string, afterSeq: number): readonly JournaledEvent[] {
  const events: JournaledEvent[] = [];
  for (;;) {
    const entries = store.journals.read(runId, afterSeq + events.length, { bytesMax: READ_BYTES });
    if (entries.length === 0) return events;
    events.push(...entries.map(({ value }) => value));
  }
}
