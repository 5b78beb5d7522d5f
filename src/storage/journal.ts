// Journals: what is appended in one call lies in one record (or a few), under the number of the record's last entry.
// J1 An append reads nothing: the writer counts.
// J2 The record that holds entry n is the first one whose number is n or more; the last record's number is the last entry's.
// J3 A record is bounded, so that reading one entry never decodes a whole journal.
// The layout is this file's own: only `Journals` promises anything.

import { present } from '../std/assert.ts';
import { decodeValue, encodeValue } from './codec.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Durability, JournalEntry, Journals } from './contract.ts';
import type { ByteRange, Change, Environment } from './environment.ts';
import { ABOVE, decodeKey, encodeKey, joinKey } from './key.ts';

const RECORD_ENTRIES_MAX = 512;
const RECORD_BYTES_MAX = 64 * 1024;
/** What `read` gives when it is not told: more than a reader can show at once, less than it takes to stall a thread. */
const READ_ENTRIES_DEFAULT = 1_000;
const READ_BYTES_DEFAULT = 1024 * 1024;
/** Records that go in one commit when a journal expires. */
const EXPIRED_PER_COMMIT_MAX = 500;

const LENGTH_BYTES = 4;

export class StoredJournals<Value> implements Journals<Value> {
  readonly #area: Buffer;
  readonly #environment: Environment;
  readonly #queue: CommitQueue;

  constructor(name: string, environment: Environment, queue: CommitQueue) {
    this.#area = encodeKey(name);
    this.#environment = environment;
    this.#queue = queue;
  }

  async append(
    journal: string,
    firstSeq: number,
    values: readonly Value[],
    durability: Durability = 'committed',
  ): Promise<void> {
    if (values.length === 0) return;
    const area = this.#areaOf(journal);
    const changes: Change[] = [];
    let lastSeq = firstSeq - 1;
    for (const record of recordsOf(values.map(encodeValue))) {
      lastSeq += record.length;
      changes.push({ space: 'journals', key: joinKey(area, encodeKey(lastSeq)), value: framed(record) });
    }
    await this.#queue.append(durability, changes);
  }

  read(
    journal: string,
    afterSeq: number,
    limits: { readonly entriesMax?: number; readonly bytesMax?: number } = {},
  ): readonly JournalEntry<Value>[] {
    const { entriesMax = READ_ENTRIES_DEFAULT, bytesMax = READ_BYTES_DEFAULT } = limits;
    const area = this.#areaOf(journal);
    const range = { lower: joinKey(area, encodeKey(afterSeq + 1)), upper: joinKey(area, ABOVE) }; // J2
    const entries: JournalEntry<Value>[] = [];
    let bytes = 0;
    for (const { key, value: record } of this.#scan(range)) {
      const frames = framesOf(record);
      const firstSeq = lastSeqOf(key, area) - frames.length + 1;
      for (const [index, frame] of frames.entries()) {
        const seq = firstSeq + index;
        if (seq <= afterSeq) continue;
        if (entries.length > 0 && (entries.length >= entriesMax || bytes + frame.length > bytesMax))
          return entries;
        entries.push({ seq, value: decodeValue<Value>(frame) });
        bytes += frame.length;
      }
    }
    return entries;
  }

  lastSeq(journal: string): number {
    const area = this.#areaOf(journal);
    const range = { lower: area, upper: joinKey(area, ABOVE) };
    for (const { key } of this.#scan(range, { reverse: true, keysOnly: true })) return lastSeqOf(key, area);
    return 0;
  }

  async expire(journal: string): Promise<void> {
    const area = this.#areaOf(journal);
    const range = { lower: area, upper: joinKey(area, ABOVE) };
    for (;;) {
      const changes: Change[] = [];
      for (const { key } of this.#scan(range, { keysOnly: true })) {
        changes.push({ space: 'journals', key, value: undefined });
        if (changes.length === EXPIRED_PER_COMMIT_MAX) break;
      }
      if (changes.length === 0) return;
      await this.#queue.append('committed', changes);
    }
  }

  *ids(): Iterable<string> {
    const upper = joinKey(this.#area, ABOVE);
    let lower: Buffer = this.#area;
    for (;;) {
      const id = this.#firstIdIn({ lower, upper });
      if (id === undefined) return;
      yield id;
      lower = joinKey(this.#areaOf(id), ABOVE);
    }
  }

  #firstIdIn(range: ByteRange): string | undefined {
    for (const { key } of this.#scan(range, { keysOnly: true })) {
      const [, id] = decodeKey(key) as readonly [string, string, number];
      return id;
    }
    return undefined;
  }

  #areaOf(journal: string): Buffer {
    return joinKey(this.#area, encodeKey(journal));
  }

  #scan(range: ByteRange, options: { readonly reverse?: boolean; readonly keysOnly?: boolean } = {}) {
    return this.#environment.scan('journals', range, { ...options, fresh: true });
  }
}

/** J3. */
function recordsOf(frames: readonly Buffer[]): Buffer[][] {
  const records: Buffer[][] = [];
  let record: Buffer[] = [];
  let bytes = 0;
  for (const frame of frames) {
    if (
      record.length === 0 ||
      record.length === RECORD_ENTRIES_MAX ||
      bytes + frame.length > RECORD_BYTES_MAX
    ) {
      record = [];
      records.push(record);
      bytes = 0;
    }
    record.push(frame);
    bytes += frame.length;
  }
  return records;
}

/** A record is its entries, each behind its length. */
function framed(frames: readonly Buffer[]): Buffer {
  const record = Buffer.allocUnsafe(frames.reduce((sum, frame) => sum + LENGTH_BYTES + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    at = record.writeUInt32LE(frame.length, at);
    at += frame.copy(record, at);
  }
  return record;
}

function framesOf(record: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < record.length; ) {
    const start = at + LENGTH_BYTES;
    at = start + record.readUInt32LE(at);
    frames.push(record.subarray(start, at));
  }
  return frames;
}

function lastSeqOf(key: Buffer, area: Buffer): number {
  return present(decodeKey(key, area.length) as number, 'the number in a journal key');
}
