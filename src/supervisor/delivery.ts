// Delivery: one message given to its handler, and what the handler makes of it given to the asker.
// M1 A call that is still being worked on when its actor ends fails at once, not at its deadline.
// M2 A Fault is an answer. Anything else that a handler throws is a bug: the asker hears of a crash, and the actor crashes;
//    unless the handler only stopped because its inquiry's signal told it to.
// M3 A message that its handler set aside has not been answered: it will be delivered again.

import { isFault } from '../std/errors.ts';
import type { Inquiry } from './actor.ts';
import type { Cell } from './cell.ts';
import type { Asker, Envelope } from './envelope.ts';
import { kernelFaults } from './faults.ts';
import { HandlerInquiry } from './inquiry.ts';
import { faultFor } from './pending-ask.ts';
import { SET_ASIDE } from './stash.ts';
import { StreamOutlet } from './streams.ts';

export type AnyHandler = (message: unknown, inquiry?: Inquiry) => unknown;

export function deliver(cell: Cell, handler: AnyHandler, envelope: Envelope): void {
  if (envelope.kind === 'tell') deliverTell(cell, handler, envelope.message);
  else if (envelope.kind === 'call') deliverCall(cell, handler, envelope);
  else deliverStream(cell, handler, envelope);
}

function deliverTell(cell: Cell, handler: AnyHandler, message: unknown): void {
  try {
    const result = handler(message);
    if (result instanceof Promise) {
      cell.openWork += 1;
      result.then(
        () => cell.workDone(),
        (error: unknown) => {
          if (error !== SET_ASIDE) cell.signalNow(() => cell.crash(error));
          cell.workDone();
        },
      );
    }
  } catch (error) {
    if (error !== SET_ASIDE) cell.crash(error);
  }
}

function deliverCall(cell: Cell, handler: AnyHandler, envelope: Envelope & { readonly kind: 'call' }): void {
  const { asker } = envelope;
  const inquiry = new HandlerInquiry(cell, asker);
  try {
    const result = handler(envelope.message, inquiry);
    if (!(result instanceof Promise)) {
      inquiry.close();
      asker.reply(result);
      return;
    }
    cell.openWork += 1;
    const forget = cell.whenEnding(() => {
      asker.fail(kernelFaults.actor_terminated(`${cell.path} ended before it answered`)); // M1
    });
    result.then(
      (value) => {
        forget();
        inquiry.close();
        asker.reply(value);
        cell.workDone();
      },
      (error: unknown) => {
        forget();
        inquiry.close();
        if (!inquiry.excuses(error)) failAsk(cell, asker, error);
        cell.workDone();
      },
    );
  } catch (error) {
    inquiry.close();
    failAsk(cell, asker, error);
  }
}

function deliverStream(
  cell: Cell,
  handler: AnyHandler,
  envelope: Envelope & { readonly kind: 'stream' },
): void {
  const { asker } = envelope;
  // The outlet hears of the asker's end, and tells the inquiry.
  const inquiry = new HandlerInquiry(cell, null);
  let forget = (): void => undefined;
  const onClosed = (error: unknown): void => {
    forget();
    inquiry.abandon();
    if (error !== undefined) failAsk(cell, asker, error);
  };
  try {
    const items = handler(envelope.message, inquiry) as AsyncIterable<unknown>;
    const outlet = new StreamOutlet(items, asker, onClosed, () => cell.runtime.scheduler.turn());
    forget = cell.whenEnding(() =>
      outlet.breakOff(kernelFaults.actor_terminated(`${cell.path} ended in the middle of a stream`)),
    );
    outlet.open();
  } catch (error) {
    onClosed(error);
  }
}

/** M2, M3. */
function failAsk(cell: Cell, asker: Asker, error: unknown): void {
  if (error === SET_ASIDE) return;
  asker.fail(faultFor(error, cell.path));
  if (!isFault(error)) cell.crash(error);
}
