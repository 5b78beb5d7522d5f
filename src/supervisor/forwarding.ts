// Forwarding: what a setup returns instead of handlers when its actor passes its mail on to others (routers, residents).
// F1 Mail does not stop in the forwarder's mailbox: it goes on within the sender's `tell`, so the sender gets the verdict of
//    the mailbox that really takes it, the asker stays who it was, and one message is one message in the counters.
// F2 What the forwarder itself understands is ordinary mail, handled in its own time.
// F3 An actor that forwards nothing pays nothing: the door is also what refuses the mail of a cell that has ended.

import type { Forwards } from './actor.ts';
import type { Cell } from './cell.ts';
import type { AnyHandler } from './delivery.ts';
import type { Envelope, MailOrigin } from './envelope.ts';
import type { Target } from './ref.ts';

/** Takes a cell's mail instead of its mailbox. */
export interface Door {
  /** As `Target.post`: takes the envelope, or refuses and counts it. Called on the sender's stack; never throws. */
  take(cell: Cell, envelope: Envelope): boolean;
  /** Mail that it keeps for others. */
  readonly heldLength: number;
}

/** All that an author sees of a forwarding (see Setup): a message may be named as any other member is. */
export const forwards: unique symbol = Symbol('forwards');

export class Forwarding implements Forwards {
  readonly [forwards] = true;
  /** For the forwarder's own messages (F2). */
  readonly handlers: Readonly<Record<string, AnyHandler>>;
  /** Called once, when the setup is done. */
  readonly open: (cell: Cell) => Door;

  constructor(handlers: Readonly<Record<string, AnyHandler>>, open: (cell: Cell) => Door) {
    this.handlers = handlers;
    this.open = open;
  }

  /** True for what stops at the forwarder itself. */
  isOwn({ name }: Envelope): boolean {
    return name === MARK || Object.hasOwn(this.handlers, name);
  }
}

/** The door of a cell that has ended. */
export const CLOSED: Door = {
  take: (cell, envelope) => cell.refuse(envelope, 'terminated'),
  heldLength: 0,
};

/**
 * A question that every actor answers by itself, in its turn: the answer says that all mail of the same sender before it has
 * left the mailbox.
 */
export const MARK = '$mark';

/** Hands an envelope on. One that goes on over another link has arrived here, as far as the link that it came by is concerned. */
export function passOn(
  envelope: Envelope,
  target: Target,
  isHere: boolean,
  origin: MailOrigin | null,
): boolean {
  if (isHere) return target.post(origin === envelope.origin ? envelope : { ...envelope, origin });
  const taken = target.post(envelope.origin === null ? envelope : { ...envelope, origin: null });
  envelope.origin?.settled();
  return taken;
}
