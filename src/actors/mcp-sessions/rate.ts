// Rate: lets so many lines a second pass, and a burst of them at first; counts what it holds back.

import type { Clock } from '../../std/clock.ts';

const SECOND_MS = 1_000;

export class Rate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #left: number;
  #sinceMs: number;
  #heldBack = 0;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#left = burst;
    this.#sinceMs = clock.monotonicMs();
  }

  /** Null when it may not pass; else how many were held back since the last one that did. */
  pass(): number | null {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#sinceMs) / SECOND_MS) * this.#perSecond;
    this.#left = Math.min(this.#burst, this.#left + gained);
    this.#sinceMs = nowMs;
    if (this.#left < 1) {
      this.#heldBack += 1;
      return null;
    }
    this.#left -= 1;
    const heldBack = this.#heldBack;
    this.#heldBack = 0;
    return heldBack;
  }
}
