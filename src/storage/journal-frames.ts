// Frames: entries of a journal one behind the other, each behind its length. What does not fit its bytes is damage, and said so.

import { decodeValue } from './codec.ts';
import type { JournalEntry } from './contract.ts';
import { storageFaults } from './faults.ts';

const LENGTH_BYTES = 4;

export function framed(frames: readonly Buffer[]): Buffer {
  const body = Buffer.allocUnsafe(frames.reduce((sum, frame) => sum + LENGTH_BYTES + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    at = body.writeUInt32LE(frame.length, at);
    at += frame.copy(body, at);
  }
  return body;
}

/** Where the frame at `at` ends. @throws Fault storage_damaged when that is behind the end of the frames. */
export function endOfFrame(bytes: Buffer, at: number, endOfFrames: number): number {
  const start = at + LENGTH_BYTES;
  if (start > endOfFrames) throw damagedJournal('an entry is cut short');
  const end = start + bytes.readUInt32LE(at);
  if (end > endOfFrames) throw damagedJournal('an entry is cut short');
  return end;
}

export function countFrames(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; count += 1) at = endOfFrame(bytes, at, bytes.length);
  return count;
}

export function damagedJournal(what: string, cause?: unknown): Error {
  return storageFaults.storage_damaged(`a journal cannot be read: ${what}`, { cause });
}

/** One read in progress: takes frames in the order of their numbers until it has enough, always at least one. */
export class Reading<Value> {
  readonly entries: JournalEntry<Value>[] = [];
  readonly #entriesMax: number;
  readonly #bytesMax: number;
  #seqTaken: number;
  #bytes = 0;
  #isFull = false;

  constructor(afterSeq: number, entriesMax: number, bytesMax: number) {
    this.#seqTaken = afterSeq;
    this.#entriesMax = entriesMax;
    this.#bytesMax = bytesMax;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** The number that comes next. */
  get nextSeq(): number {
    return this.#seqTaken + 1;
  }

  /** Those of the `count` frames in this part of the bytes that are wanted; the first of them has number `firstSeq`. */
  take(bytes: Buffer, at: number, endOfFrames: number, firstSeq: number, count: number): void {
    let start = at;
    for (let seq = firstSeq; seq < firstSeq + count; seq += 1) {
      const end = endOfFrame(bytes, start, endOfFrames);
      if (seq > this.#seqTaken) {
        const length = end - start - LENGTH_BYTES;
        const { length: taken } = this.entries;
        this.#isFull = taken > 0 && (taken >= this.#entriesMax || this.#bytes + length > this.#bytesMax);
        if (this.#isFull) return;
        this.entries.push({ seq, value: decode<Value>(bytes.subarray(start + LENGTH_BYTES, end)) });
        this.#bytes += length;
        this.#seqTaken = seq;
      }
      start = end;
    }
  }
}

/**
 * A view is decoded. Given all bytes with a start and an end, msgpackr takes the texts out of them by native code: quicker in a loop,
 * but with hundreds of readers behind it took many times as long, and they held ten times the memory.
 */
function decode<Value>(frame: Buffer): Value {
  try {
    return decodeValue<Value>(frame);
  } catch (error) {
    throw damagedJournal('an entry is no value', error);
  }
}
