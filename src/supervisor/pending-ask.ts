// PendingAsk: the asker's end of one call.
// Q1 It settles exactly once: reply, fault, deadline or the asker's own signal.
// Q2 When it settles without an answer it tells the other end, which aborts the handler's signal.

import { type Fault, isFault } from '../std/errors.ts';
import type { Expiring } from './deadlines.ts';
import type { Asker } from './envelope.ts';
import { kernelFaults } from './faults.ts';

/** Long enough for a busy actor, short enough that a client still waits. */
export const ASK_DEADLINE_MS = 10_000;

export class PendingAsk implements Asker, Expiring {
  isSettled = false;
  readonly #path: string;
  readonly #name: string;
  readonly #deadlineMs: number;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (fault: Fault) => void;
  #abandoned: (() => void) | null = null;
  #unlisten: (() => void) | null = null;

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
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Gives up when the signal is aborted; at once when it already is. */
  obey(signal: AbortSignal): void {
    const abandon = (): void => this.#abandon(kernelFaults.ask_cancelled(`${this.#name} to ${this.#path} was cancelled`));
    if (signal.aborted) {
      abandon();
      return;
    }
    signal.addEventListener('abort', abandon, { once: true });
    this.#unlisten = () => signal.removeEventListener('abort', abandon);
  }

  reply(value: unknown): void {
    if (!this.#settle()) return;
    this.#resolve(value);
  }

  fail(fault: Fault): void {
    if (!this.#settle()) return;
    this.#reject(fault);
  }

  expire(): void {
    this.#abandon(
      kernelFaults.ask_timeout(`${this.#name} to ${this.#path} was not answered within ${this.#deadlineMs} ms`),
    );
  }

  onAbandoned(hook: () => void): void {
    this.#abandoned = hook;
  }

  #abandon(fault: Fault): void {
    if (this.isSettled) return;
    const hook = this.#abandoned;
    this.fail(fault);
    hook?.();
  }

  #settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    this.#unlisten?.();
    this.#abandoned = null;
    return true;
  }
}

/** The fault that a caller gets for whatever a handler threw; anything undeclared says only that the actor crashed. */
export function faultFor(error: unknown, path: string): Fault {
  return isFault(error) ? error : kernelFaults.actor_crashed(`${path} failed on an internal error`);
}
