// Postings: for every term, the documents that have it, with how often, and how long they are.
// P1 Documents are numbered; a term's postings of 128 neighbouring numbers share one record. So a change of a posting is one read
//    and one write at a known place, and a frequent term is read 128 documents at a time.
// P2 The record of no posting is no record.
// P3 What the transactions of one commit add and remove is gathered, and a record is written once for all of it: the chunks of a
//    document have most of their words in common, and so have the messages of a thousand conversations. So a draft that is still
//    being decided does not have its own postings; nobody looks for them there.

import type { Draft, Gathering, View } from './draft.ts';
import { ABOVE, encodeKey, encodePath, joinKey, SEPARATOR } from './key.ts';

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
  /** The same for all that are open on these terms: what they gather in one commit is one. */
  readonly #gatheredAs: string;

  constructor(collection: string, area: Buffer) {
    this.#collection = collection;
    this.#area = area;
    this.#gatheredAs = area.toString('latin1');
  }

  add(draft: Draft, term: string, posting: Posting): void {
    this.#changesIn(draft).add(term, posting);
  }

  remove(draft: Draft, term: string, document: number): void {
    this.#changesIn(draft).remove(term, document);
  }

  of(view: View, term: string): PostingList {
    const area = this.#termArea(term);
    const range = { lower: area, upper: joinKey(area, ABOVE) };
    return new PostingList(Array.from(view.scan(this.#collection, range), ({ value }) => value));
  }

  /** P3. */
  #changesIn(draft: Draft): PostingChanges {
    return draft.gathering(this.#gatheredAs, () => new PostingChanges(this.#collection, this.#area));
  }

  #termArea(term: string): Buffer {
    return joinKey(this.#area, encodeKey(term), SEPARATOR);
  }
}

/** P3: the changes of one transaction, then of one commit. */
class PostingChanges implements Gathering {
  readonly #collection: string;
  readonly #area: Buffer;
  /** By term. */
  readonly #added = new Map<string, Posting[]>();
  readonly #removed = new Map<string, number[]>();

  constructor(collection: string, area: Buffer) {
    this.#collection = collection;
    this.#area = area;
  }

  get size(): number {
    return this.#added.size + this.#removed.size;
  }

  join(later: PostingChanges): void {
    for (const [term, removed] of later.#removed) for (const document of removed) this.remove(term, document);
    for (const [term, added] of later.#added) for (const posting of added) this.add(term, posting);
  }

  add(term: string, posting: Posting): void {
    const added = this.#added.get(term);
    if (added === undefined) this.#added.set(term, [posting]);
    else added.push(posting);
  }

  remove(term: string, document: number): void {
    const added = this.#added.get(term) ?? [];
    const own = added.findIndex((posting) => posting.document === document);
    if (own !== -1) {
      added.splice(own, 1);
      return;
    }
    const removed = this.#removed.get(term);
    if (removed === undefined) this.#removed.set(term, [document]);
    else removed.push(document);
  }

  writeInto(draft: Draft): void {
    // In the order of their keys: neighbours lie on one page.
    for (const term of [...new Set([...this.#added.keys(), ...this.#removed.keys()])].sort()) {
      const added = Map.groupBy(this.#added.get(term) ?? [], ({ document }) => recordOf(document));
      const removed = Map.groupBy(this.#removed.get(term) ?? [], recordOf);
      for (const record of new Set([...added.keys(), ...removed.keys()])) {
        const key = encodePath(this.#area, term, record);
        const before = draft.get(this.#collection, key);
        const after = recordAfter(before, removed.get(record) ?? [], added.get(record) ?? []);
        if (after.length > 0) draft.put(this.#collection, key, after);
        else if (before !== undefined) draft.remove(this.#collection, key); // P2
      }
    }
  }
}

function recordOf(document: number): number {
  return Math.floor(document / NUMBERS_PER_RECORD);
}

function recordAfter(
  before: Buffer | undefined,
  removed: readonly number[],
  added: readonly Posting[],
): Buffer {
  // From the pool: a buffer with memory of its own costs more than all the rest of this.
  const record = Buffer.allocUnsafe((before?.length ?? 0) + added.length * POSTING_BYTES);
  let length = 0;
  // The bytes are lent, and behind their length lie those of others: hence the ends.
  if (before !== undefined && removed.length === 0) length = before.copy(record, 0, 0, before.length);
  else if (before !== undefined) {
    for (let at = 0; at < before.length; at += POSTING_BYTES) {
      if (removed.includes(before.readUInt32LE(at))) continue;
      length += before.copy(record, length, at, at + POSTING_BYTES);
    }
  }
  for (const posting of added) {
    record.writeUInt32LE(posting.document, length);
    record.writeUInt16LE(Math.min(posting.occurrences, UINT16_MAX), length + OCCURRENCES_AT);
    record.writeUInt16LE(Math.min(posting.length, UINT16_MAX), length + LENGTH_AT);
    length += POSTING_BYTES;
  }
  return record.subarray(0, length);
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
