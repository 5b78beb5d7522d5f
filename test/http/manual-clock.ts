// A clock that stands still until the test moves it.

import type { Clock, Timer } from '../../src/std/clock.ts';

export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; readonly fire: () => void }>();

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  startTimer(delayMs: number, fire: () => void): Timer {
    const timer = { dueMs: this.#nowMs + delayMs, fire };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const [next] = [...this.#timers]
        .filter(({ dueMs }) => dueMs <= untilMs)
        .sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.fire();
    }
    this.#nowMs = untilMs;
  }
}
