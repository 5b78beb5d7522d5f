// Vectors: those that one engine made, under the ids of what they were made from. They are the truth; indexes follow them.
// V1 Every change takes the next number. A vector bears the number of the change that put it, so that no two ever share one:
//    an index knows a vector by its number, and what has been replaced is another one.
// V2 Whoever followed up to a number finds all that was put since under the numbers above it, and what was removed since in
//    the notes of removals. Only the last REMOVALS_KEPT numbers have notes: further behind, all is compared.
// V3 The bytes of a vector lie apart from what it is filtered by, in the order of the numbers: either is read in one sweep.

import { assert } from '../std/assert.ts';
import { decodeValue, encodeValue } from './codec.ts';
import type { Draft, View } from './draft.ts';
import { storageFaults } from './faults.ts';
import { ABOVE, decodeKey, encodeKey, joinKey, SEPARATOR } from './key.ts';
import { product } from './nearest.ts';

/** A note takes some 40 bytes. */
export const REMOVALS_KEPT = 65_536;
/** Four bytes in the index (hnsw.ts). */
const NUMBER_MAX = 2 ** 32 - 1;

/** What a vector is found and filtered by. */
export interface VectorLabels {
  readonly id: string;
  readonly owner: string;
  readonly tags: readonly string[];
}

export interface NumberedLabels extends VectorLabels {
  readonly number: number;
}

export interface VectorFigures {
  readonly count: number;
  /** 0 as long as there was none. */
  readonly dimensions: number;
  /** Of the last change. */
  readonly lastNumber: number;
}

export class StoredVectors {
  readonly #collection: string;
  readonly #numbers: Buffer;
  readonly #labels: Buffer;
  readonly #points: Buffer;
  readonly #removals: Buffer;

  constructor(name: string) {
    this.#collection = `vectors ${name}`;
    const area = (part: string): Buffer => joinKey(encodeKey(['vectors', name, part]), SEPARATOR);
    this.#numbers = area('numbers');
    this.#labels = area('labels');
    this.#points = area('points');
    this.#removals = area('removals');
  }

  figures(view: View): VectorFigures {
    const { count = 0, dimensions = 0, lastNumber = 0 } = view.totals(this.#collection);
    return { count, dimensions, lastNumber };
  }

  has(view: View, id: string): boolean {
    return view.get(this.#collection, this.#numberKey(id)) !== undefined;
  }

  putInto(draft: Draft, labels: VectorLabels, vector: Float32Array): void {
    const { dimensions } = this.figures(draft);
    if (!Number.isFinite(product(vector, vector))) {
      throw storageFaults.storage_vector_invalid('a vector has finite members');
    }
    if (dimensions !== 0 && dimensions !== vector.length) {
      throw storageFaults.storage_vector_invalid(
        `the vectors of this engine have ${dimensions} dimensions, not ${vector.length}`,
      );
    }
    this.removeFrom(draft, labels.id);
    const number = this.#nextNumber(draft);
    draft.put(this.#collection, this.#numberKey(labels.id), encodeValue(number));
    this.#putLabels(draft, number, labels);
    draft.put(this.#collection, joinKey(this.#points, encodeKey(number)), bytesOf(vector));
    draft.addToTotals(this.#collection, { count: 1, dimensions: vector.length - dimensions });
  }

  /** The same vector under other labels: a new number (V1). False when there is none. */
  relabelIn(draft: Draft, labels: VectorLabels): boolean {
    const number = this.#numberOf(draft, labels.id);
    const point = number === undefined ? undefined : this.point(draft, number);
    if (point === undefined) return false;
    this.putInto(draft, labels, point);
    return true;
  }

  removeFrom(draft: Draft, id: string): boolean {
    const number = this.#numberOf(draft, id);
    if (number === undefined) return false;
    draft.remove(this.#collection, this.#numberKey(id));
    draft.remove(this.#collection, joinKey(this.#labels, encodeKey(number)));
    draft.remove(this.#collection, joinKey(this.#points, encodeKey(number)));
    const note = joinKey(this.#removals, encodeKey(this.#nextNumber(draft)));
    draft.put(this.#collection, note, encodeValue(number));
    draft.addToTotals(this.#collection, { count: -1 });
    return true;
  }

  /** A copy. */
  point(view: View, number: number): Float32Array | undefined {
    const bytes = view.get(this.#collection, joinKey(this.#points, encodeKey(number)));
    return bytes === undefined ? undefined : pointOf(bytes);
  }

  /** Lent until the next one. */
  lentPoint(view: View, number: number): Float32Array | undefined {
    const bytes = view.get(this.#collection, joinKey(this.#points, encodeKey(number)));
    if (bytes === undefined) return undefined;
    const isAligned = bytes.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0;
    if (!isAligned) return pointOf(bytes);
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / Float32Array.BYTES_PER_ELEMENT);
  }

  numbersIn(view: View): ReadonlySet<number> {
    const range = { lower: this.#labels, upper: joinKey(this.#labels, ABOVE) };
    const entries = view.scan(this.#collection, range, { keysOnly: true });
    return new Set(Array.from(entries, ({ key }) => numberIn(key, this.#labels)));
  }

  /** In the order of their numbers, from above `after` on. */
  *labelsAfter(view: View, after: number): Iterable<NumberedLabels> {
    for (const { key, value } of view.scan(this.#collection, above(this.#labels, after))) {
      const [id, owner, tags] = decodeValue<readonly [string, string, readonly string[]]>(value);
      yield { number: numberIn(key, this.#labels), id, owner, tags };
    }
  }

  labelsOf(view: View, number: number): VectorLabels | undefined {
    const bytes = view.get(this.#collection, joinKey(this.#labels, encodeKey(number)));
    if (bytes === undefined) return undefined;
    const [id, owner, tags] = decodeValue<readonly [string, string, readonly string[]]>(bytes);
    return { id, owner, tags };
  }

  /** Numbers that were removed by changes above `after`; null when that is too long ago to tell (V2). */
  removedAfter(view: View, after: number): readonly number[] | null {
    if (after + REMOVALS_KEPT < this.figures(view).lastNumber) return null;
    const notes = view.scan(this.#collection, above(this.#removals, after));
    return Array.from(notes, ({ value }) => decodeValue<number>(value));
  }

  /** The ids of some. */
  idsIn(view: View, limit: number): readonly string[] {
    const ids: string[] = [];
    const range = { lower: this.#numbers, upper: joinKey(this.#numbers, ABOVE) };
    for (const { key } of view.scan(this.#collection, range, { keysOnly: true })) {
      ids.push(decodeKey(key, this.#numbers.length) as string);
      if (ids.length === limit) break;
    }
    return ids;
  }

  #numberOf(draft: Draft, id: string): number | undefined {
    const bytes = draft.get(this.#collection, this.#numberKey(id));
    return bytes === undefined ? undefined : decodeValue<number>(bytes);
  }

  #numberKey(id: string): Buffer {
    return joinKey(this.#numbers, encodeKey(id));
  }

  #putLabels(draft: Draft, number: number, { id, owner, tags }: VectorLabels): void {
    draft.put(this.#collection, joinKey(this.#labels, encodeKey(number)), encodeValue([id, owner, tags]));
  }

  #nextNumber(draft: Draft): number {
    const number = this.figures(draft).lastNumber + 1;
    assert(number <= NUMBER_MAX, 'an engine makes at most 2^32 vectors for a collection in its life');
    draft.addToTotals(this.#collection, { lastNumber: 1 });
    const forgotten = joinKey(this.#removals, encodeKey(number - REMOVALS_KEPT));
    if (draft.get(this.#collection, forgotten) !== undefined) draft.remove(this.#collection, forgotten);
    return number;
  }
}

function bytesOf(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function pointOf(bytes: Buffer): Float32Array {
  const point = new Float32Array(bytes.length / Float32Array.BYTES_PER_ELEMENT);
  bytes.copy(new Uint8Array(point.buffer));
  return point;
}

function above(area: Buffer, number: number): { readonly lower: Buffer; readonly upper: Buffer } {
  return { lower: joinKey(area, encodeKey(number + 1)), upper: joinKey(area, ABOVE) };
}

function numberIn(key: Buffer, area: Buffer): number {
  return decodeKey(key, area.length) as number;
}
