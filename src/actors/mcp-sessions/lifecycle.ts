// Lifecycle: which connection a session has, and when it gets the next one.
// L1 At most one connection at a time: an attempt begins when nothing is left of the one before.
// L2 A failure is followed by a delay that grows with the failures in a row; a connection that has held for STABLE_MS ends the
//    row. What waiting cannot mend, and whoever wants no reconnecting, is not followed by an attempt.
// L3 Who needs a connection joins the attempt that is under way, or begins one at once: nobody waits for a delay.
// L4 After `close` nothing begins any more, and all that was is gone when it resolves.

import { errorText, type Fault, isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { isLasting } from './failures.ts';
import { mcpSessionFaults } from './protocol.ts';

const DELAY_FIRST_MS = 500;
const DELAY_MAX_MS = 300_000;
const STABLE_MS = 60_000;
const RETRY_TIMER = 'reconnect';
const LOST_TIMER = 'lost';

/** What a connection is to its lifecycle. */
export interface Link {
  readonly ended: Promise<string | null>;
  close(): Promise<void>;
}

/** What an attempt follows on. */
export interface Setback {
  readonly fault: Fault;
  /** In a row. */
  readonly failures: number;
}

export type LifecyclePhase<L extends Link> =
  | { readonly kind: 'connecting'; readonly link: Promise<L>; readonly after: Setback | null }
  | { readonly kind: 'connected'; readonly link: L; readonly sinceMs: number }
  | { readonly kind: 'waiting'; readonly after: Setback }
  | { readonly kind: 'idle' }
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'closed' };

export interface LifecycleOptions<L extends Link> {
  /** @throws Fault; whatever else is a bug */
  open(signal: AbortSignal): Promise<L>;
  readonly isReconnecting: boolean;
  /** Attempts in a row, as the settings say at the time. */
  attemptsMax(): number;
  /** The phase is another one. */
  changed(): void;
}

export class Lifecycle<L extends Link> {
  phase: LifecyclePhase<L> = { kind: 'idle' };
  readonly #context: ActorContext;
  readonly #options: LifecycleOptions<L>;
  readonly #givenUp = new AbortController();
  #failures = 0;
  /** Of the last attempt; not the promise that others wait for, which settles as a message of the actor. */
  #opening: Promise<L | null> = Promise.resolve(null);
  /** What is being closed: L1. */
  #leaving: Promise<void> = Promise.resolve();

  constructor(context: ActorContext, options: LifecycleOptions<L>) {
    this.#context = context;
    this.#options = options;
  }

  /** L3. @throws Fault: why there is none */
  connect(): Promise<L> {
    switch (this.phase.kind) {
      case 'connecting':
        return this.phase.link;
      case 'connected':
        return Promise.resolve(this.phase.link);
      case 'closed':
        return Promise.reject(mcpSessionFaults.mcp_connect_failed('The session has ended'));
      case 'waiting':
        return this.#begin(this.phase.after);
      case 'idle':
      case 'failed':
        return this.#begin(null);
    }
  }

  /** As `connect`, but what waiting cannot mend is not tried again: only a `connect` does that. */
  usable(): Promise<L> {
    const { phase } = this;
    if (phase.kind === 'failed' && isLasting(phase.fault)) return Promise.reject(phase.fault);
    return this.connect();
  }

  /** The connection is of no use any more. An old one is nobody's business. */
  replace(link: L, how: string): void {
    if (this.phase.kind !== 'connected' || this.phase.link !== link) return;
    this.#leave(link);
    this.#endRow(this.phase.sinceMs);
    this.#failed(mcpSessionFaults.mcp_connect_failed(`The connection was lost: ${how}`));
  }

  /** Until it is needed again. */
  rest(): void {
    if (this.phase.kind !== 'connected') return;
    this.#leave(this.phase.link);
    this.#endRow(this.phase.sinceMs);
    this.#enter({ kind: 'idle' });
  }

  /** L4. */
  async close(): Promise<void> {
    const { phase } = this;
    this.phase = { kind: 'closed' };
    this.#givenUp.abort(mcpSessionFaults.mcp_connect_failed('The session has ended'));
    if (phase.kind === 'connected') this.#leave(phase.link);
    const opened = await this.#opening.catch(() => null);
    if (opened !== null) this.#leave(opened);
    await this.#leaving;
  }

  #begin(after: Setback | null): Promise<L> {
    const { promise, resolve, reject } = Promise.withResolvers<L>();
    promise.catch(() => undefined); // Told as a change of state, too.
    const opening = this.#open();
    this.#opening = opening;
    this.#enter({ kind: 'connecting', link: promise, after });
    this.#context.pipe(
      opening,
      (link) => {
        this.#connected(link);
        resolve(link);
      },
      (error) => {
        if (!isFault(error)) throw error instanceof Error ? error : new Error(errorText(error));
        if (this.phase.kind !== 'closed') this.#failed(error);
        reject(error);
      },
    );
    return promise;
  }

  async #open(): Promise<L> {
    await this.#leaving; // L1
    const link = await this.#options.open(this.#givenUp.signal);
    if (this.phase.kind === 'closed') {
      await link.close();
      throw mcpSessionFaults.mcp_connect_failed('The session has ended');
    }
    return link;
  }

  #connected(link: L): void {
    if (this.phase.kind === 'closed') return;
    this.#enter({ kind: 'connected', link, sinceMs: this.#context.clock.monotonicMs() });
    // As a message of the actor, but no work that a drain would wait for.
    void link.ended.then((how) => {
      if (how !== null) this.#context.after(LOST_TIMER, 0, () => this.replace(link, how));
    });
  }

  /** L2. */
  #failed(fault: Fault): void {
    this.#failures += 1;
    const isOver = isLasting(fault) || !this.#options.isReconnecting;
    if (isOver || this.#failures > this.#options.attemptsMax()) {
      this.#enter({ kind: 'failed', fault });
      return;
    }
    this.#enter({ kind: 'waiting', after: { fault, failures: this.#failures } });
    const grown = DELAY_FIRST_MS * 2 ** Math.min(this.#failures - 1, 20);
    const delayMs = Math.min(grown, DELAY_MAX_MS) * (0.5 + this.#context.random.float());
    this.#context.after(RETRY_TIMER, delayMs, () => {
      if (this.phase.kind === 'waiting') void this.#begin(this.phase.after);
    });
  }

  /** L2. */
  #endRow(connectedSinceMs: number): void {
    if (this.#context.clock.monotonicMs() - connectedSinceMs >= STABLE_MS) this.#failures = 0;
  }

  #leave(link: L): void {
    const leaving = link.close();
    this.#leaving = Promise.all([this.#leaving, leaving]).then(() => undefined);
  }

  #enter(phase: LifecyclePhase<L>): void {
    this.phase = phase;
    this.#options.changed();
  }
}
