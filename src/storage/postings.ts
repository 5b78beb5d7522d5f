// Postings: for every term, the documents that have it, with how often, and how long they are.
// P1 Documents are numbered; a term's postings of 128 neighbouring numbers share one record. So adding or removing a
//    posting is one read and one write at a known place, and a frequent term is read 128 documents at a time.
// P2 The record of no posting is no record.

import type { Draft, View } from './draft.ts';
import { ABOVE, encodeKey, joinKey, SEPARATOR } from './key.ts';

/** Keeps a full record, at 8 bytes a posting, well inside a page of the engine. */
const NUMBERS_PER_RECORD = 128;
const POSTING_BYTES = 8;
const OCCURRENCES_AT = 4;
const LENGTH_AT = 6;
const UINT16_MAX = 0xffff;

export interface Posting {
  readonly document: number;
  readonly occurrences: number;
  /** Of the document, in tokens. */
  readonly length: number;
}

export class Postings {
  readonly #collection: string;
  readonly #area: Buffer;

  constructor(collection: string, area: Buffer) {
    this.#collection = collection;
    this.#area = area;
  }

  add(draft: Draft, term: string, posting: Posting): void {
    const key = this.#recordKey(term, posting.document);
    const before = draft.get(this.#collection, key);
    // From the pool: a buffer with memory of its own costs more than all the rest of this.
    const record = Buffer.allocUnsafe((before?.length ?? 0) + POSTING_BYTES);
    before?.copy(record);
    const at = record.length - POSTING_BYTES;
    record.writeUInt32LE(posting.document, at);
    record.writeUInt16LE(Math.min(posting.occurrences, UINT16_MAX), at + OCCURRENCES_AT);
    record.writeUInt16LE(Math.min(posting.length, UINT16_MAX), at + LENGTH_AT);
    draft.put(this.#collection, key, record);
  }

  remove(draft: Draft, term: string, document: number): void {
    const key = this.#recordKey(term, document);
    const before = draft.get(this.#collection, key);
    if (before === undefined) return;
    const kept: Buffer[] = [];
    for (let at = 0; at < before.length; at += POSTING_BYTES) {
      if (before.readUInt32LE(at) !== document) kept.push(before.subarray(at, at + POSTING_BYTES));
    }
    if (kept.length === 0)
      draft.remove(this.#collection, key); // P2
    else draft.put(this.#collection, key, Buffer.concat(kept));
  }

  of(view: View, term: string): PostingList {
    const area = this.#termArea(term);
    const range = { lower: area, upper: joinKey(area, ABOVE) };
    return new PostingList(Array.from(view.scan(this.#collection, range), ({ value }) => value));
  }

  #recordKey(term: string, document: number): Buffer {
    const number = encodeKey(Math.floor(document / NUMBERS_PER_RECORD));
    return joinKey(this.#area, encodeKey(term), SEPARATOR, number);
  }

  #termArea(term: string): Buffer {
    return joinKey(this.#area, encodeKey(term), SEPARATOR);
  }
}

export class PostingList {
  /** How many documents have the term. */
  readonly count: number;
  readonly #records: readonly Buffer[];

  constructor(records: readonly Buffer[]) {
    this.#records = records;
    this.count = records.reduce((bytes, record) => bytes + record.length, 0) / POSTING_BYTES;
  }

  forEach(visit: (document: number, occurrences: number, length: number) => void): void {
    for (const record of this.#records) {
      for (let at = 0; at < record.length; at += POSTING_BYTES) {
        visit(
          record.readUInt32LE(at),
          record.readUInt16LE(at + OCCURRENCES_AT),
          record.readUInt16LE(at + LENGTH_AT),
        );
      }
    }
  }
}
