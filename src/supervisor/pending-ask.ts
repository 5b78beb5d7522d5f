// PendingAsk: the asker's end of one call.
// Q1 It settles exactly once: reply, fault, deadline, the asker's own signal, or the end of the actor that asked.
// Q2 When it settles without an answer it tells the other end, which aborts the handler's signal.
// Q3 Once settled it holds neither the reply nor a listener.

import { type Fault, isFault } from '../std/errors.ts';
import type { Expiring } from './deadlines.ts';
import type { Asker, Owner } from './envelope.ts';
import { kernelFaults } from './faults.ts';

/** Long enough for a busy actor, short enough that a client still waits. */
export const ASK_DEADLINE_MS = 10_000;

interface Settlement {
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: Fault) => void;
}

export class PendingAsk implements Asker, Expiring {
  readonly #path: string;
  readonly #name: string;
  readonly #deadlineMs: number;
  #settlement: Settlement | null;
  #abandoned: (() => void) | null = null;
  #unlisten: (() => void) | null = null;
  #disown: (() => void) | null = null;

  constructor(
    path: string,
    name: string,
    deadlineMs: number,
    resolve: (value: unknown) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#path = path;
    this.#name = name;
    this.#deadlineMs = deadlineMs;
    this.#settlement = { resolve, reject };
  }

  get isSettled(): boolean {
    return this.#settlement === null;
  }

  /** Gives up when the signal is aborted; at once when it already is. */
  obey(signal: AbortSignal): void {
    const abandon = (): void => this.#cancel();
    if (signal.aborted) {
      abandon();
      return;
    }
    signal.addEventListener('abort', abandon, { once: true });
    this.#unlisten = () => signal.removeEventListener('abort', abandon);
  }

  /** Gives up when the owner ends. An owner that is ending already may still ask: its stop hooks do. */
  belongTo(owner: Owner): void {
    if (!owner.isEnding && !this.isSettled) this.#disown = owner.whenEnding(() => this.#cancel());
  }

  reply(value: unknown): void {
    this.#settle()?.resolve(value);
  }

  fail(fault: Fault): void {
    this.#settle()?.reject(fault);
  }

  expire(): void {
    this.#abandon(
      kernelFaults.ask_timeout(
        `${this.#name} to ${this.#path} was not answered within ${this.#deadlineMs} ms`,
      ),
    );
  }

  onAbandoned(hook: () => void): void {
    if (this.isSettled) hook();
    else this.#abandoned = hook;
  }

  #cancel(): void {
    this.#abandon(kernelFaults.ask_cancelled(`${this.#name} to ${this.#path} was cancelled`));
  }

  #abandon(fault: Fault): void {
    const hook = this.#abandoned;
    const settled = this.#settle();
    if (settled === null) return;
    settled.reject(fault);
    hook?.();
  }

  /** Null when it was settled before. */
  #settle(): Settlement | null {
    const settlement = this.#settlement;
    if (settlement === null) return null;
    this.#settlement = null;
    this.#unlisten?.();
    this.#unlisten = null;
    this.#disown?.();
    this.#disown = null;
    this.#abandoned = null;
    return settlement;
  }
}

/** The fault that a caller gets for whatever a handler threw; anything undeclared says only that the actor crashed. */
export function faultFor(error: unknown, path: string): Fault {
  return isFault(error) ? error : kernelFaults.actor_crashed(`${path} failed on an internal error`);
}
