// Tally: counts what has been handled, and says when it is all.

import { expectCount, loopTurn } from './harness.ts';

export class Tally {
  #count = 0;
  #expected = 0;
  #reached: () => void = () => undefined;

  /** One more has been handled. */
  add(): void {
    this.#count += 1;
    if (this.#count === this.#expected) this.#reached();
  }

  /** Resolves when `count` more than now have been handled. Ask before the first is sent. */
  reaches(count: number): Promise<void> {
    this.#expected = this.#count + count;
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  /** @throws when something was handled twice. */
  async expectNoMore(): Promise<void> {
    await loopTurn();
    expectCount('handled', this.#count, this.#expected);
  }
}
