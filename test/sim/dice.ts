// Dice: a simulation's randomness in a scenario's words.

import type { RandomSource } from '../../src/std/ids.ts';

export class Dice {
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  upTo(max: number): number {
    return this.#random.float() * max;
  }

  int(below: number): number {
    return Math.floor(this.upTo(below));
  }

  chance(of: number): boolean {
    return this.#random.float() < of;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)] as T;
  }
}
