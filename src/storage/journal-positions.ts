// Positions: where the log holds the entries of one journal, on one thread, in four words each: ten thousand live journals
// have a million of them.

import { present } from '../std/assert.ts';
import type { PageNumber } from './journal-page.ts';

export interface Position extends PageNumber {
  readonly firstSeq: number;
  /** In the directory of the page. */
  readonly at: number;
}

const STRIDE = 4;
const WRITER = 1;
const PAGE = 2;
const AT = 3;
/** Up to this size an array lies in the heap and costs little besides its words. */
const POSITIONS_FIRST = 4;

export class Positions {
  #words = new Uint32Array(POSITIONS_FIRST * STRIDE);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** In the order of numbers. Nearly always the last: only the pages of another writer may be seen late. */
  insert(firstSeq: number, writer: number, page: number, at: number): void {
    this.#makeRoom();
    const index =
      this.#length === 0 || firstSeq > this.firstSeq(this.#length - 1) ? this.#length : this.upTo(firstSeq);
    this.#words.copyWithin((index + 1) * STRIDE, index * STRIDE, this.#length * STRIDE);
    const word = index * STRIDE;
    this.#words[word] = firstSeq;
    this.#words[word + WRITER] = writer;
    this.#words[word + PAGE] = page;
    this.#words[word + AT] = at;
    this.#length += 1;
  }

  firstSeq(index: number): number {
    return this.#word(index * STRIDE);
  }

  writer(index: number): number {
    return this.#word(index * STRIDE + WRITER);
  }

  page(index: number): number {
    return this.#word(index * STRIDE + PAGE);
  }

  at(index: number): number {
    return this.#word(index * STRIDE + AT);
  }

  /** How many begin at `seq` or below. */
  upTo(seq: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.firstSeq(middle) <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Drops those that are void. */
  drop(isVoid: (writer: number, page: number) => boolean): void {
    let kept = 0;
    for (let index = 0; index < this.#length; index += 1) {
      if (isVoid(this.writer(index), this.page(index))) continue;
      if (kept < index) this.#words.copyWithin(kept * STRIDE, index * STRIDE, (index + 1) * STRIDE);
      kept += 1;
    }
    if (kept === this.#length) return;
    this.#length = kept;
    if (kept * STRIDE * 4 <= this.#words.length)
      this.#words = this.#words.slice(0, Math.max(kept * 2, POSITIONS_FIRST) * STRIDE);
  }

  has({ firstSeq, writer, page, at }: Position): boolean {
    const index = this.upTo(firstSeq) - 1;
    return (
      index >= 0 &&
      this.firstSeq(index) === firstSeq &&
      this.writer(index) === writer &&
      this.page(index) === page &&
      this.at(index) === at
    );
  }

  /**
   * The first `countMax` of them and, with the last page of each writer among these, all others that lie in these pages or
   * before: what can be cut off.
   */
  prefix(countMax: number): { readonly positions: Positions; readonly through: readonly PageNumber[] } {
    const through = new Map<number, number>();
    let count = 0;
    const takeUpTo = (length: number): void => {
      for (; count < length; count += 1) {
        const writer = this.writer(count);
        const isLastOfMany = count + 1 === length || this.writer(count + 1) !== writer;
        // A writer's pages come in the order of the numbers.
        if (isLastOfMany) through.set(writer, Math.max(through.get(writer) ?? 0, this.page(count)));
      }
    };
    takeUpTo(Math.min(countMax, this.#length));
    for (let index = count; index < this.#length; index += 1) {
      if (this.page(index) <= (through.get(this.writer(index)) ?? 0)) takeUpTo(index + 1);
    }
    const positions = new Positions();
    positions.#words = this.#words.slice(0, count * STRIDE);
    positions.#length = count;
    return { positions, through: Array.from(through, ([writer, page]) => ({ writer, page })) };
  }

  /** Whether all of `other` is where it was when it was taken: positions are dropped by the prefix, or all. */
  beginsWith(other: Positions): boolean {
    if (this.#length < other.#length) return false;
    const length = other.#length * STRIDE;
    return this.#words.subarray(0, length).every((word, at) => word === other.#words[at]);
  }

  #word(at: number): number {
    return present(this.#words[at], 'a position');
  }

  #makeRoom(): void {
    if ((this.#length + 1) * STRIDE <= this.#words.length) return;
    const longer = new Uint32Array(Math.ceil(this.#length * (this.#length < 64 ? 2 : 1.5)) * STRIDE);
    longer.set(this.#words);
    this.#words = longer;
  }
}
