// SeededExecutor: runs the actors of one thread by hand, in an order that follows from a seed.
// J1 The same seed and the same inputs give the same order: of actors, and of nothing else, since mail keeps its own.

import type { RandomSource } from '../../std/ids.ts';
import type { Executor } from '../scheduler.ts';
import { loopTurn } from './manual-clock.ts';

/** More steps than any test needs: beyond it actors keep each other busy without end. */
const STEPS_MAX = 1_000_000;

export class SeededExecutor implements Executor {
  readonly #random: RandomSource;
  #waiting: (() => void)[] = [];

  constructor(random: RandomSource) {
    this.#random = random;
  }

  soon(run: () => void): void {
    this.#waiting.push(run);
  }

  afterIo(run: () => void): void {
    this.#waiting.push(run);
  }

  pick(count: number): number {
    return Math.floor(this.#random.float() * count);
  }

  /** One drain of the run queue. False when there is nothing to do. */
  step(): boolean {
    const run = this.#waiting.shift();
    run?.();
    return run !== undefined;
  }

  /** Until nothing is left to do, what settles as a promise included. */
  async run(stepsMax = STEPS_MAX): Promise<void> {
    let steps = 0;
    do {
      while (this.step()) {
        steps += 1;
        if (steps > stepsMax) throw new Error(`the actors are still busy after ${stepsMax} steps`);
      }
      await loopTurn();
    } while (this.#waiting.length > 0);
  }
}
