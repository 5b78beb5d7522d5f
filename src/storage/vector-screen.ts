// VectorScreen: vectors of one length in memory, a byte for each member, to find out quickly which of many may be the nearest to
// another one. Only those are worth to be read and compared exactly.
// C1 Nothing is lost: for each vector the screen knows how far it is from its bytes, and so how far at most the rough product is
//    from the exact one. Only a vector whose highest possible product is below the lowest possible ones of `limit` others is out.
// C2 Slots are the caller's (vector-members.ts). A row that was left is written again; memory is given back with all of it.

import { type Memory, openMemory, PAGE_BYTES, type Products, STEP_BYTES } from './byte-products.ts';
import { Nearest } from './nearest.ts';
import type { VectorRoom } from './vector-room.ts';

/** Rows of one call of the products. */
const ROWS_PER_CALL = 1_024;
const BYTE_MAX = 127;
const WORD_MAX = 16_383;
const SUM_MAX = 2 ** 31 - 1;
/** Of what is added up and rounded: far more than it comes to. */
const ROUNDING = 1e-6;
const GROWTH = 1.25;
const ROWS_MIN = 512;
/** Of each row: what a step of its bytes is worth, how far it is from the vector, how long that is. */
const FACTS = 3;
/** Of one page less than WebAssembly has addresses, so that the end of the last row is one. */
const BYTES_MAX = 2 ** 32 - PAGE_BYTES;

/** Before the rows, in one page of the memory. */
const VECTOR_AT = 0;
const ROW_NUMBERS_AT = 16_384;
const SUMS_AT = ROW_NUMBERS_AT + ROWS_PER_CALL * 4;
const ROWS_AT = PAGE_BYTES;

export interface Candidate {
  readonly slot: number;
  /** Its product is not above. */
  readonly atMost: number;
}

export class VectorScreen {
  readonly #rowBytes: number;
  readonly #room: VectorRoom;
  readonly #memory: Memory;
  readonly #products: Products;
  #facts = new Float32Array(0);

  constructor(dimensions: number, room: VectorRoom) {
    this.#rowBytes = Math.ceil(dimensions / STEP_BYTES) * STEP_BYTES;
    this.#room = room;
    ({ memory: this.#memory, products: this.#products } = openMemory(BYTES_MAX / PAGE_BYTES));
  }

  /** Room for all slots below this one; false, and nothing taken, when there is not as much. */
  reserve(slots: number): boolean {
    if (slots <= this.#capacity) return true;
    // Where there is no room for more than is wanted, just that.
    return this.#grow(Math.max(slots, ROWS_MIN, Math.ceil(this.#capacity * GROWTH))) || this.#grow(slots);
  }

  /** False when there is no room. */
  put(slot: number, vector: Float32Array): boolean {
    if (!this.reserve(slot + 1)) return false;
    const row = new Int8Array(this.#memory.buffer, ROWS_AT + slot * this.#rowBytes, this.#rowBytes);
    const { scale, rest, length } = roundInto(row, vector, BYTE_MAX);
    this.#facts.set([scale, rest, length], slot * FACTS);
    return true;
  }

  /** A comparison with many: their slots are added one by one, and those that may be among the nearest come out (C1). */
  sweep(vector: Float32Array, limit: number): Sweep {
    const { buffer } = this.#memory;
    const wordMax = Math.min(WORD_MAX, Math.floor(SUM_MAX / (BYTE_MAX * this.#rowBytes)));
    const words = new Int16Array(buffer, VECTOR_AT, this.#rowBytes).fill(0);
    const rounding = roundInto(words, vector, wordMax);
    return new Sweep(limit, this.#facts, rounding, {
      rowNumbers: new Uint32Array(buffer, ROW_NUMBERS_AT, ROWS_PER_CALL),
      sums: new Int32Array(buffer, SUMS_AT, ROWS_PER_CALL),
      multiply: (rows) =>
        this.#products(
          ROW_NUMBERS_AT,
          ROW_NUMBERS_AT + 4 * rows,
          VECTOR_AT,
          ROWS_AT,
          this.#rowBytes,
          SUMS_AT,
        ),
    });
  }

  /** Gives all of its room back. */
  close(): void {
    this.#room.give(this.#bytesFor(this.#capacity));
    this.#facts = new Float32Array(0);
  }

  get #capacity(): number {
    return this.#facts.length / FACTS;
  }

  #grow(capacity: number): boolean {
    const bytes = ROWS_AT + capacity * this.#rowBytes;
    if (bytes > BYTES_MAX) return false;
    if (!this.#room.take(this.#bytesFor(capacity - this.#capacity))) return false;
    try {
      this.#memory.grow(Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE_BYTES));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#room.give(this.#bytesFor(capacity - this.#capacity));
      return false;
    }
    const facts = new Float32Array(capacity * FACTS);
    facts.set(this.#facts);
    this.#facts = facts;
    return true;
  }

  #bytesFor(rows: number): number {
    return rows * (this.#rowBytes + FACTS * Float32Array.BYTES_PER_ELEMENT);
  }
}

interface Rows {
  readonly rowNumbers: Uint32Array;
  readonly sums: Int32Array;
  /** The first so many of the row numbers. */
  readonly multiply: (count: number) => void;
}

/** Nothing else may use the screen before it has ended. */
export class Sweep {
  readonly #facts: Float32Array;
  readonly #vector: Rounding;
  readonly #rows: Rows;
  /** By the lowest possible product. */
  readonly #nearest: Nearest;
  readonly #candidates: Candidate[] = [];
  #waiting = 0;

  constructor(limit: number, facts: Float32Array, vector: Rounding, rows: Rows) {
    this.#facts = facts;
    this.#vector = vector;
    this.#rows = rows;
    this.#nearest = new Nearest(limit);
  }

  add(slot: number): void {
    this.#rows.rowNumbers[this.#waiting] = slot;
    this.#waiting += 1;
    if (this.#waiting === ROWS_PER_CALL) this.#multiply();
  }

  /** The likeliest first. */
  end(): readonly Candidate[] {
    this.#multiply();
    const least = this.#nearest.least;
    return this.#candidates.filter(({ atMost }) => atMost >= least).sort((a, b) => b.atMost - a.atMost);
  }

  #multiply(): void {
    if (this.#waiting === 0) return;
    this.#rows.multiply(this.#waiting);
    const { rowNumbers, sums } = this.#rows;
    const facts = this.#facts;
    const { scale, rest, length } = this.#vector;
    const roundedLength = length + rest;
    let least = this.#nearest.least;
    for (let i = 0; i < this.#waiting; i += 1) {
      const slot = rowNumbers[i] as number;
      const at = slot * FACTS;
      const rough = scale * (facts[at] as number) * (sums[i] as number);
      const rowLength = facts[at + 2] as number;
      // |q·x - q'·x'| <= |q - q'| |x| + |q'| |x - x'|
      const error =
        rest * rowLength + roundedLength * (facts[at + 1] as number) + ROUNDING * roundedLength * rowLength;
      if (rough + error < least) continue;
      this.#candidates.push({ slot, atMost: rough + error });
      this.#nearest.offer(slot, rough - error);
      least = this.#nearest.least;
    }
    this.#waiting = 0;
  }
}

interface Rounding {
  /** What one step is worth. */
  readonly scale: number;
  /** How far the vector is from its steps. */
  readonly rest: number;
  readonly length: number;
}

/** In whole steps, the longest member as `max` of them. */
function roundInto(steps: Int8Array | Int16Array, vector: Float32Array, max: number): Rounding {
  let longest = 0;
  for (const member of vector) longest = Math.max(longest, Math.abs(member));
  const scale = Math.fround(longest / max);
  let restSquares = 0;
  let squares = 0;
  for (let i = 0; i < vector.length; i += 1) {
    const member = vector[i] as number;
    // Of the least numbers that there are the steps are worth nothing, and all of it is rest.
    const step = scale === 0 ? 0 : Math.max(-max, Math.min(max, Math.round(member / scale)));
    steps[i] = step;
    restSquares += (member - step * scale) ** 2;
    squares += member * member;
  }
  return { scale, rest: Math.sqrt(restSquares), length: Math.sqrt(squares) };
}
