// Scheduler: decides which actor of a thread runs next, and when the thread's event loop gets a turn.
// K1 An actor that has work is in the run queue exactly once.
// K2 A slice handles at most SLICE_MESSAGES of one actor; after TURN_MESSAGES in all timers and sockets have their turn. So a
//    flooded actor slows itself only, and two actors that ask each other without end do not keep the event loop to
//    themselves: what a drain leaves of its budget is the next one's, not a new one.

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

const SLICE_MESSAGES = 64;
const TURN_MESSAGES = 256;

export class Scheduler {
  readonly #executor: Executor;
  readonly #queue = new Mailbox<Runnable>({ lengthMax: Number.POSITIVE_INFINITY, whenFull: 'reject' });
  #budget = TURN_MESSAGES;
  /** A drain is running, or will. */
  #isDraining = false;

  constructor(executor: Executor) {
    this.#executor = executor;
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
      this.#budget -= Math.max(1, runnable.runSlice(Math.min(SLICE_MESSAGES, this.#budget)));
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
    this.#drain();
  };

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
