// ResidentVectors: vectors of one length in memory, side by side in blocks, so that to compare many is to read memory in order.

import { product } from './nearest.ts';
import type { VectorRoom } from './vector-room.ts';

/** With 384 dimensions a block is 768 KB. */
const VECTORS_PER_BLOCK = 512;

interface Block {
  readonly members: Float32Array;
  readonly free: number[];
}

export class ResidentVectors {
  readonly #dimensions: number;
  readonly #room: VectorRoom;
  readonly #blocks: (Block | undefined)[] = [];

  constructor(dimensions: number, room: VectorRoom) {
    this.#dimensions = dimensions;
    this.#room = room;
  }

  /** Its place; null when there is no room. */
  add(vector: Float32Array): number | null {
    let number = this.#blocks.findLastIndex((block) => block !== undefined && block.free.length > 0);
    if (number < 0) {
      if (!this.#room.take(this.#blockBytes)) return null;
      number = this.#blocks.indexOf(undefined);
      if (number < 0) number = this.#blocks.length;
      this.#blocks[number] = {
        members: new Float32Array(VECTORS_PER_BLOCK * this.#dimensions),
        free: Array.from({ length: VECTORS_PER_BLOCK }, (_, i) => VECTORS_PER_BLOCK - 1 - i),
      };
    }
    const { members, free } = this.#blocks[number] as Block;
    const within = free.pop() as number;
    members.set(vector, within * this.#dimensions);
    return number * VECTORS_PER_BLOCK + within;
  }

  remove(place: number): void {
    const number = Math.floor(place / VECTORS_PER_BLOCK);
    const { free } = this.#blocks[number] as Block;
    free.push(place % VECTORS_PER_BLOCK);
    if (free.length < VECTORS_PER_BLOCK) return;
    this.#blocks[number] = undefined;
    this.#room.give(this.#blockBytes);
  }

  /** Lent until it is removed. */
  at(place: number): Float32Array {
    const { members } = this.#blocks[Math.floor(place / VECTORS_PER_BLOCK)] as Block;
    const from = (place % VECTORS_PER_BLOCK) * this.#dimensions;
    return members.subarray(from, from + this.#dimensions);
  }

  similarity(vector: Float32Array, place: number): number {
    const { members } = this.#blocks[Math.floor(place / VECTORS_PER_BLOCK)] as Block;
    return product(vector, members, (place % VECTORS_PER_BLOCK) * this.#dimensions);
  }

  clear(): void {
    for (const block of this.#blocks) if (block !== undefined) this.#room.give(this.#blockBytes);
    this.#blocks.length = 0;
  }

  get #blockBytes(): number {
    return VECTORS_PER_BLOCK * this.#dimensions * Float32Array.BYTES_PER_ELEMENT;
  }
}
