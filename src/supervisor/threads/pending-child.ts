// PendingChild: a child of a worker's actor that the main thread has not placed yet. Its ref may be used meanwhile.
// Q1 Mail waits here, in order, and follows the order to start; what it counts for begins when it is sent on.
// Q2 A child that is stopped before it has a place never starts.

import type { TerminationReason } from '../actor.ts';
import type { ChildHandle } from '../children.ts';
import type { Refusal } from '../dead-letters.ts';
import type { Envelope } from '../envelope.ts';
import type { Address } from '../protocol.ts';
import type { Target } from '../ref.ts';
import type { Runtime } from '../runtime.ts';

/** The thread of an actor that has none yet. Never leaves its own thread. */
export const UNPLACED = -1;

/** What a sender may say before the main thread has answered: much more than one turn's worth. */
const HELD_MAX = 8_192;

interface Hooks {
  launch(thread: number): ChildHandle;
  ended(reason: TerminationReason): void;
}

export class PendingChild implements ChildHandle, Target {
  readonly actor: number;
  readonly path: string;
  readonly #runtime: Runtime;
  readonly #hooks: Hooks;
  #placed: ChildHandle | null = null;
  /** Why it never got a place. */
  #ended: TerminationReason | null = null;
  #isDrained = false;
  #held: Envelope[] = [];
  #waiting: (() => void)[] = [];

  constructor(runtime: Runtime, actor: number, path: string, hooks: Hooks) {
    this.#runtime = runtime;
    this.actor = actor;
    this.path = path;
    this.#hooks = hooks;
  }

  get thread(): number {
    return this.#placed?.thread ?? UNPLACED;
  }

  get address(): Address | null {
    return this.#placed === null ? null : this.location;
  }

  get location(): Address {
    return { thread: this.thread, actor: this.actor, path: this.path };
  }

  get ended(): TerminationReason | null {
    return this.#ended;
  }

  get isTerminated(): boolean {
    return this.#ended !== null || this.#placed?.isTerminated === true;
  }

  post(envelope: Envelope): boolean {
    if (this.#placed !== null) return this.#runtime.targetOf(this.location).post(envelope);
    if (this.#ended !== null) return this.#refuse(envelope, 'terminated');
    if (this.#held.length >= HELD_MAX) return this.#refuse(envelope, 'link_full');
    this.#held.push(envelope);
    return true;
  }

  stop(): void {
    if (this.#placed === null) this.#cancel({ kind: 'stopped' });
    else this.#placed.stop();
  }

  drain(): void {
    if (this.#placed === null) this.#isDrained = true;
    else this.#placed.drain();
  }

  kill(): void {
    if (this.#placed === null) this.#cancel({ kind: 'killed' });
    else this.#placed.kill();
  }

  /** False when it is not wanted any more (Q2). */
  place(thread: number): boolean {
    if (this.#ended !== null) return false;
    const placed = this.#hooks.launch(thread);
    this.#placed = placed;
    const held = this.#held;
    this.#held = [];
    for (const envelope of held) this.post(envelope);
    if (this.#isDrained) placed.drain();
    this.#settle();
    return true;
  }

  fail(message: string): void {
    this.#cancel({ kind: 'crashed', message });
  }

  /** Once it has a place, or never will (see `ended`). */
  whenSettled(run: () => void): void {
    if (this.#placed !== null || this.#ended !== null) run();
    else this.#waiting.push(run);
  }

  #cancel(reason: TerminationReason): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    const held = this.#held;
    this.#held = [];
    for (const envelope of held) this.#refuse(envelope, 'terminated');
    this.#settle();
    this.#hooks.ended(reason);
  }

  #settle(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) run();
  }

  #refuse(envelope: Envelope, refusal: Refusal): false {
    this.#runtime.counters.sent += 1;
    this.#runtime.refuse(this.path, envelope, refusal);
    return false;
  }
}
