// Tracer: stands before the handlers of one actor while somebody traces it, and is gone when nobody does (U4).

import type { Clock } from '../../std/clock.ts';
import { isFault } from '../../std/errors.ts';
import type { Inquiry } from '../actor.ts';
import type { AnyHandler } from '../delivery.ts';
import { HandlerInquiry } from '../inquiry.ts';
import { SET_ASIDE } from '../stash.ts';
import type { TraceEvent } from './contract.ts';
import { Tap } from './tap.ts';

export type HandlerTable = Readonly<Record<string, AnyHandler>>;

export class Tracer {
  readonly #clock: Clock;
  readonly #taps = new Set<Tap<TraceEvent>>();
  readonly #onUnused: () => void;

  /** `onUnused` is called when the last reader has left. */
  constructor(clock: Clock, onUnused: () => void) {
    this.#clock = clock;
    this.#onUnused = onUnused;
  }

  open(): Tap<TraceEvent> {
    const tap = new Tap<TraceEvent>(() => {
      if (this.#taps.delete(tap) && this.#taps.size === 0) this.#onUnused();
    });
    this.#taps.add(tap);
    return tap;
  }

  /** The traced actor has ended. */
  close(): void {
    for (const tap of [...this.#taps]) tap.close();
  }

  /** The same handlers, watched. */
  around(handlers: HandlerTable): HandlerTable {
    return Object.fromEntries(
      Object.entries(handlers).map(([name, handler]): [string, AnyHandler] => [
        name,
        (message, inquiry) => this.#run(name, handler, message, inquiry),
      ]),
    );
  }

  #run(name: string, handler: AnyHandler, message: unknown, inquiry: Inquiry | undefined): unknown {
    const atMs = this.#clock.nowMs();
    const startedMs = this.#clock.monotonicMs();
    const note = (kind: TraceEvent['kind'], outcome: TraceEvent['outcome']): void => {
      const event = { atMs, name, kind, durationMs: this.#clock.monotonicMs() - startedMs, outcome };
      for (const tap of this.#taps) tap.push(event);
    };
    const kind = inquiry === undefined ? 'tell' : 'call';
    const noteFailure = (error: unknown): void => {
      // What was set aside comes again.
      if (error !== SET_ASIDE) note(kind, outcomeOf(error, inquiry));
    };
    let result: unknown;
    try {
      result = handler(message, inquiry);
    } catch (error) {
      noteFailure(error);
      throw error;
    }
    if (result instanceof Promise) {
      result.then(() => note(kind, 'handled'), noteFailure);
    } else if (isStream(result)) note('stream', 'opened');
    else note(kind, 'handled');
    return result;
  }
}

/** Only the asker of a call hears of a fault; thrown at a statement it is a crash (see delivery.ts). */
function outcomeOf(error: unknown, inquiry: Inquiry | undefined): TraceEvent['outcome'] {
  if (inquiry === undefined) return 'crashed';
  if (isFault(error)) return 'fault';
  return inquiry instanceof HandlerInquiry && inquiry.excuses(error) ? 'abandoned' : 'crashed';
}

function isStream(result: unknown): boolean {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}
