// A clock that is moved by hand, and tells which timers were started: what takes its time in reality, as a commit does, may start
// one later than the test comes to move the clock, which has to wait for it then.

import type { Timer } from '../../src/std/clock.ts';
import { ManualClock } from '../../src/supervisor/testkit/index.ts';

export class NotingClock extends ManualClock {
  #started: { readonly atMs: number; readonly delayMs: number }[] = [];

  override startTimer(delayMs: number, fire: () => void): Timer {
    this.#started.push({ atMs: this.monotonicMs(), delayMs });
    return super.startTimer(delayMs, fire);
  }

  /** How many timers of that length were started since time has moved last. */
  started(delayMs: number): number {
    this.#started = this.#started.filter(({ atMs }) => atMs === this.monotonicMs());
    return this.#started.filter((timer) => timer.delayMs === delayMs).length;
  }
}
