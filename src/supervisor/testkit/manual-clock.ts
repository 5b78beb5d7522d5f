// ManualClock: time that stands still until a test moves it.
// C3 Timers fire in the order of their due times, those of the same time in the order in which they were started.
// C4 After each timer what it set going is done before time goes on, so that a timer which it starts falls due in turn.

import type { Clock, Timer } from '../../std/clock.ts';

interface Waiting {
  readonly atMs: number;
  readonly fire: () => void;
}

export interface ManualClockOptions {
  /** Wall time at the start. */
  readonly nowMs?: number;
  /** Resolves when what a timer set going is done; a turn of the event loop when absent. */
  readonly settle?: () => Promise<void>;
}

/** 2026-01-01: any day does, as long as it is always the same. */
const EPOCH_MS = 1_767_225_600_000;

export class ManualClock implements Clock {
  readonly #epochMs: number;
  readonly #settle: () => Promise<void>;
  readonly #waiting = new Set<Waiting>();
  #elapsedMs = 0;

  constructor({ nowMs = EPOCH_MS, settle = loopTurn }: ManualClockOptions = {}) {
    this.#epochMs = nowMs;
    this.#settle = settle;
  }

  nowMs(): number {
    return this.#epochMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  startTimer(delayMs: number, fire: () => void): Timer {
    const waiting = { atMs: this.#elapsedMs + Math.max(delayMs, 0), fire };
    this.#waiting.add(waiting);
    return { cancel: () => this.#waiting.delete(waiting) };
  }

  /** How many timers are waiting: none, once everything has stopped. */
  get timers(): number {
    return this.#waiting.size;
  }

  /** When the next timer is due, on the monotonic clock. */
  get nextDueMs(): number | null {
    return this.#next()?.atMs ?? null;
  }

  async advance(byMs: number): Promise<void> {
    await this.#settle();
    const untilMs = this.#elapsedMs + byMs;
    for (let next = this.#next(); next !== undefined && next.atMs <= untilMs; next = this.#next()) {
      this.#waiting.delete(next);
      this.#elapsedMs = next.atMs;
      next.fire();
      await this.#settle();
    }
    this.#elapsedMs = untilMs;
  }

  /** The one that is due first; a set keeps the order in which they were started. */
  #next(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (first === undefined || waiting.atMs < first.atMs) first = waiting;
    }
    return first;
  }
}

/** All microtasks that are queued, and those that they queue, run before it resolves. */
export function loopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
