// Scheduler: decides which actor of a thread runs next, and when the thread's event loop gets a turn.
// K1 An actor that has work is in the run queue exactly once.
// K2 A slice handles at most SLICE_MESSAGES of one actor; after TURN_MESSAGES in all, or after TURN_MS, timers and sockets have
//    their turn. So a flooded actor slows itself only, whatever its messages cost, and two actors that ask each other
//    without end do not keep the event loop to themselves: what a drain leaves of its budget is the next one's, not a new one.

import type { Clock } from '../std/clock.ts';
import { Mailbox } from './mailbox.ts';

/** Anything that can be given a slice of the thread. */
export interface Runnable {
  /** Handles up to `messagesMax` messages; returns how many. */
  runSlice(messagesMax: number): number;
  /** True while there is something left to do. */
  readonly hasWork: boolean;
  /** Owned by the scheduler (K1). */
  isScheduled: boolean;
}

/** How a drain gets the thread: at once after the current task, or after the event loop has had its turn. */
export interface Executor {
  soon(run: () => void): void;
  afterIo(run: () => void): void;
  /** Picks the next of `count` waiting actors; 0 is the one that has waited longest. */
  pick(count: number): number;
}

export const threadExecutor: Executor = {
  soon: (run) => queueMicrotask(run),
  afterIo: (run) => {
    setImmediate(run);
  },
  pick: () => 0,
};

const SLICE_MESSAGES = 8;
const TURN_MESSAGES = 256;
/** Who asks an actor beside a flooded one waits for about this long. */
const TURN_MS = 2;

export class Scheduler {
  readonly #executor: Executor;
  readonly #clock: Clock;
  readonly #queue = new Mailbox<Runnable>({ lengthMax: Number.POSITIVE_INFINITY, whenFull: 'reject' });
  #budget = TURN_MESSAGES;
  #turnBeganMs: number;
  /** Handled since the clock was last looked at. */
  #unlooked = 0;
  /** A drain is running, or will. */
  #isDraining = false;

  constructor(executor: Executor, clock: Clock) {
    this.#executor = executor;
    this.#clock = clock;
    this.#turnBeganMs = clock.monotonicMs();
  }

  schedule(runnable: Runnable): void {
    if (runnable.isScheduled) return;
    runnable.isScheduled = true;
    this.#queue.push(runnable);
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#executor.soon(this.#drain);
  }

  /** Resolves after the event loop has had its turn. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#executor.afterIo(resolve));
  }

  readonly #drain = (): void => {
    while (this.#budget > 0) {
      const runnable = this.#next();
      if (runnable === undefined) {
        this.#isDraining = false;
        return;
      }
      // At least one for each turn in the queue: an actor that finds nothing to do must not make the drain endless.
      this.#charge(Math.max(1, runnable.runSlice(Math.min(SLICE_MESSAGES, this.#budget))));
      runnable.isScheduled = false;
      if (runnable.hasWork) {
        runnable.isScheduled = true;
        this.#queue.push(runnable);
      }
    }
    this.#executor.afterIo(this.#drainAfresh);
  };

  readonly #drainAfresh = (): void => {
    this.#budget = TURN_MESSAGES;
    this.#turnBeganMs = this.#clock.monotonicMs();
    this.#unlooked = 0;
    this.#drain();
  };

  /** A look at the clock costs as much as a message or two, so it is taken once for several. */
  #charge(messages: number): void {
    this.#budget -= messages;
    this.#unlooked += messages;
    if (this.#unlooked < SLICE_MESSAGES) return;
    this.#unlooked = 0;
    if (this.#clock.monotonicMs() - this.#turnBeganMs >= TURN_MS) this.#budget = 0;
  }

  #next(): Runnable | undefined {
    for (
      let skips = this.#queue.length > 1 ? this.#executor.pick(this.#queue.length) : 0;
      skips > 0;
      skips -= 1
    ) {
      const skipped = this.#queue.shift();
      if (skipped !== undefined) this.#queue.push(skipped);
    }
    return this.#queue.shift();
  }
}
