// Spans: entries of one journal that lie together, under the number of the last of them. What a journal is read from when it is
// no longer in the log; and what all journals were made of before there was a log, in the plain form.
// N1 The span that holds entry n is the first one whose number is n or more.
// N2 A span is bounded, so that reading one entry never unpacks a whole journal.

import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { present } from '../std/assert.ts';
import type { ByteRange, Change, Environment } from './environment.ts';
import { countFrames, damagedJournal, type Reading } from './journal-frames.ts';
import { ABOVE, decodeKey, encodeKey, joinKey } from './key.ts';

/** Bytes of entries: events of a run pack to about a sixth, so this fills one page of the engine. */
const SPAN_BYTES = 24 * 1024;
/** A longer one is one large entry: packing it would hold up the thread. */
const PACKED_BYTES_MAX = 64 * 1024;

/** A text of so many units makes a key in any case. */
const TEXT_UNITS_SAFE = 256;

/** No length of an entry: a packed span begins with it. */
const PACKED = 0xffff_ffff;
/** The mark, the number of entries, the bytes before packing. */
const PACKED_HEADER_BYTES = 12;

/** Entries with consecutive numbers, framed. */
export interface EntryRun {
  readonly firstSeq: number;
  readonly count: number;
  readonly body: Buffer;
}

interface Span {
  readonly firstSeq: number;
  readonly count: number;
  readonly body: Buffer;
}

/** What all keys of a journal begin with. */
export function areaOf(name: string, journal: string): Buffer {
  return joinKey(encodeKey(name), encodeKey(journal));
}

/** @throws Fault storage_key_invalid when the journal could have no key; nearly always found without making one. */
export function assertCanBeKey(name: string, journal: string): void {
  if (journal.length > TEXT_UNITS_SAFE || !journal.isWellFormed()) areaOf(name, journal);
}

/** The spans for some runs of entries of one journal, in the order of their numbers. */
export function* spansOf(area: Buffer, runs: readonly EntryRun[]): Iterable<Change> {
  let group: EntryRun[] = [];
  let bytes = 0;
  for (const run of runs) {
    const last = group.at(-1);
    const isNext = last !== undefined && run.firstSeq === last.firstSeq + last.count;
    if (last !== undefined && (!isNext || bytes + run.body.length > SPAN_BYTES)) {
      yield spanOf(area, group);
      group = [];
      bytes = 0;
    }
    group.push(run);
    bytes += run.body.length;
  }
  if (group.length > 0) yield spanOf(area, group);
}

export class JournalSpans {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Reads are of the state that the thread has begun to read. */
  readInto(area: Buffer, reading: Reading<unknown>): void {
    const range = { lower: joinKey(area, encodeKey(reading.nextSeq)), upper: joinKey(area, ABOVE) }; // N1
    for (const { key, value } of this.#environment.scan('journals', range, { fresh: false })) {
      const { firstSeq, count, body } = unpacked(lastSeqOf(key, area), value);
      reading.take(body, 0, body.length, firstSeq, count);
      if (reading.isFull) return;
    }
  }

  /** 0 when there are none. */
  lastSeq(area: Buffer): number {
    const options = { reverse: true, keysOnly: true, fresh: false };
    for (const { key } of this.#environment.scan('journals', rangeOf(area), options)) {
      return lastSeqOf(key, area);
    }
    return 0;
  }

  keys(area: Buffer, keysMax: number): Buffer[] {
    const keys: Buffer[] = [];
    const options = { keysOnly: true, fresh: false };
    for (const { key } of this.#environment.scan('journals', rangeOf(area), options)) {
      if (keys.push(key) === keysMax) break;
    }
    return keys;
  }

  *ids(name: string): Iterable<string> {
    const area = encodeKey(name);
    const upper = joinKey(area, ABOVE);
    let lower: Buffer = area;
    for (;;) {
      this.#environment.refresh();
      const key = this.#environment.firstKey('journals', { lower, upper });
      if (key === undefined) return;
      const [, id] = decodeKey(key) as readonly [string, string, number];
      yield id;
      lower = joinKey(areaOf(name, id), ABOVE);
    }
  }
}

function rangeOf(area: Buffer): ByteRange {
  return { lower: area, upper: joinKey(area, ABOVE) };
}

function spanOf(area: Buffer, runs: readonly EntryRun[]): Change {
  const first = present(runs[0], 'the first run of a span');
  const count = runs.reduce((sum, run) => sum + run.count, 0);
  const body = Buffer.concat(runs.map((run) => run.body));
  const key = joinKey(area, encodeKey(first.firstSeq + count - 1));
  return { space: 'journals', key, value: packed(count, body) };
}

/** Packed where that saves something. */
function packed(count: number, body: Buffer): Buffer {
  if (body.length > PACKED_BYTES_MAX) return body;
  const deflated = deflateRawSync(body, { level: constants.Z_BEST_SPEED });
  if (deflated.length + PACKED_HEADER_BYTES >= body.length) return body;
  const header = Buffer.allocUnsafe(PACKED_HEADER_BYTES);
  header.writeUInt32LE(PACKED, 0);
  header.writeUInt32LE(count, 4);
  header.writeUInt32LE(body.length, 8);
  return Buffer.concat([header, deflated]);
}

function unpacked(lastSeq: number, value: Buffer): Span {
  const isPacked = value.length >= PACKED_HEADER_BYTES && value.readUInt32LE(0) === PACKED;
  if (!isPacked) {
    const count = countFrames(value);
    return { firstSeq: lastSeq - count + 1, count, body: value };
  }
  const count = value.readUInt32LE(4);
  const bytes = value.readUInt32LE(8);
  return { firstSeq: lastSeq - count + 1, count, body: inflated(value.subarray(PACKED_HEADER_BYTES), bytes) };
}

function inflated(deflated: Buffer, bytes: number): Buffer {
  try {
    if (bytes > PACKED_BYTES_MAX) throw new RangeError('a span says that it is too long');
    // The size is known: one piece, which is much faster than pieces that are put together.
    const body = inflateRawSync(deflated, { chunkSize: Math.max(bytes + 1, 64), maxOutputLength: bytes + 1 });
    if (body.length !== bytes) throw new RangeError('a span is cut short');
    return body;
  } catch (error) {
    throw damagedJournal('a span cannot be unpacked', error);
  }
}

function lastSeqOf(key: Buffer, area: Buffer): number {
  return present(decodeKey(key, area.length) as number, 'the number in a journal key');
}
