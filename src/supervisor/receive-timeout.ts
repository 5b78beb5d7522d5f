// ReceiveTimeout: tells an actor that no mail has come for a while.
// R1 Mail costs it a time stamp a slice, not a timer a message: the timer looks back when it fires, and waits for the rest.
// R2 Mail that waits in the mailbox has come: an actor that is behind is not idle.

import type { Clock, Timer } from '../std/clock.ts';

interface Idler {
  readonly runtime: { readonly clock: Clock };
  readonly hasMail: boolean;
}

export class ReceiveTimeout {
  readonly #cell: Idler;
  readonly #idleMs: number;
  readonly #fire: () => void;
  #sinceMs: number;
  #handled = 0;
  /** Null once cancelled. */
  #timer: Timer | null;

  constructor(cell: Idler, idleMs: number, fire: () => void) {
    this.#cell = cell;
    this.#idleMs = idleMs;
    this.#fire = fire;
    this.#sinceMs = this.#nowMs();
    this.#timer = this.#arm(idleMs);
  }

  /** Called after each slice, with the number of messages that the actor has handled in all. */
  noteHandled(handled: number): void {
    if (handled === this.#handled) return;
    this.#handled = handled;
    this.touch();
  }

  /** Mail has come. */
  touch(): void {
    this.#sinceMs = this.#nowMs();
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #arm(delayMs: number): Timer {
    return this.#cell.runtime.clock.startTimer(delayMs, () => this.#due());
  }

  #due(): void {
    if (this.#timer === null) return;
    if (this.#cell.hasMail) this.touch(); // R2
    const leftMs = this.#idleMs - (this.#nowMs() - this.#sinceMs);
    if (leftMs > 0) {
      this.#timer = this.#arm(leftMs);
      return;
    }
    this.touch();
    this.#timer = this.#arm(this.#idleMs);
    this.#fire();
  }

  #nowMs(): number {
    return this.#cell.runtime.clock.monotonicMs();
  }
}
