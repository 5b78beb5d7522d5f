// Draining: an actor that takes no more mail, finishes what it has, and then stops (see StopOptions.drain).
// E1 What came before the order is handled, and what that set going is waited for: open calls, piped and background work,
//    holds.
// E2 It ends as `stopped`; so do its children, each of which is drained in its turn.
// E3 Its owner's patience is bounded: after `shutdownMs` a drain becomes a stop, after another `shutdownMs` a kill.

import type { Cell } from './cell.ts';
import type { Envelope } from './envelope.ts';
import { CLOSED, type Door } from './forwarding.ts';

export class DrainingDoor implements Door {
  readonly #before: Door | null;

  /** `before` is the door of a forwarding actor, whose held mail is still on its way. */
  constructor(before: Door | null) {
    this.#before = before;
  }

  get heldLength(): number {
    return this.#before?.heldLength ?? 0;
  }

  take(cell: Cell, envelope: Envelope): boolean {
    return CLOSED.take(cell, envelope);
  }
}
