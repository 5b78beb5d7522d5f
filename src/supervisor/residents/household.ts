// Household: which identities of a residents actor have an incarnation, and the mail of those that have none just now.
// See residents.ts for what it promises to authors (D1 to D8).
// H1 An identity has one incarnation at most. Mail goes to it, or is held; held mail is handed over at once, in order, when
//    the next one is there, so there is never both.
// H2 Resident, being set up or leaving: all three take a place, of which there are `residentsMax`.
// H3 `#recent` is in order of use, the least recently used first; what is found at work has been used.
// H4 Held mail is counted as sent when it comes, and again by the incarnation that takes it: once in all.

import { errorText } from '../../std/errors.ts';
import type { ActorContext, Behaviour, ChildOptions } from '../actor.ts';
import { Cell } from '../cell.ts';
import { type ChildHandle, type ChildrenObserver, child } from '../children.ts';
import { CountedStreamAsker } from '../counted-asker.ts';
import type { Envelope } from '../envelope.ts';
import type { Door, Forwarding } from '../forwarding.ts';
import type { KeyOf } from '../loading.ts';
import { MAILBOX_DEFAULT } from '../mailbox.ts';
import { Identity } from './identity.ts';

export interface HouseholdOptions {
  readonly idleMs: number;
  readonly residentsMax: number;
  readonly heldMax: number;
  readonly resident: Pick<ChildOptions, 'mailbox' | 'shutdownMs'>;
}

export interface ResidentsView {
  /** With an incarnation, those that are being set up or passivated included. */
  readonly resident: number;
  /** With mail, for want of a place. */
  readonly waiting: number;
  /** Messages that wait for an incarnation. */
  readonly held: number;
  readonly activations: number;
  readonly passivations: number;
}

/** Longer texts are no names, but something that was mistaken for one. */
const KEY_LENGTH_MAX = 1_024;
/** How many residents one pass looks at for an idle one; the rest have their turn in the next. */
const LOOKS_PER_PASS = 1_024;
/** When to look again after all that were looked at wait for something outside. */
const LOOK_AGAIN_MS = 20;

export class Household implements Door, ChildrenObserver {
  readonly #cell: Cell;
  readonly #context: ActorContext;
  // biome-ignore lint/suspicious/noExplicitAny: it knows nothing of what its residents understand.
  readonly #behaviour: Behaviour<any, any>;
  readonly #args: unknown;
  readonly #keyOf: KeyOf;
  readonly #options: HouseholdOptions;
  readonly #forwarding: Forwarding;
  readonly #identities = new Map<string, Identity>();
  /** The resident ones. */
  readonly #recent = new Set<Identity>();
  /** Those without a place, the one that has waited longest first. */
  readonly #waiting = new Set<Identity>();
  #places = 0;
  #leaving = 0;
  #held = 0;
  #activations = 0;
  #passivations = 0;
  #isPassDue = false;
  #isSweepSet = false;

  constructor(
    cell: Cell,
    context: ActorContext,
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    behaviour: Behaviour<any, any>,
    args: unknown,
    keyOf: KeyOf,
    options: HouseholdOptions,
    forwarding: Forwarding,
  ) {
    this.#cell = cell;
    this.#context = context;
    this.#behaviour = behaviour;
    this.#args = args;
    this.#keyOf = keyOf;
    this.#options = options;
    this.#forwarding = forwarding;
    cell.children.observer = this;
    cell.children.areIndependent = true;
    cell.children.heir = (resident, envelope) => this.#inherit(resident, envelope);
    cell.whenEnding(() => this.#close());
  }

  get heldLength(): number {
    return this.#held;
  }

  view(): ResidentsView {
    return {
      resident: this.#places,
      waiting: this.#waiting.size,
      held: this.#held,
      activations: this.#activations,
      passivations: this.#passivations,
    };
  }

  // ---- Mail

  take(cell: Cell, envelope: Envelope): boolean {
    if (this.#forwarding.isOwn(envelope)) return cell.receive(envelope);
    const key = this.#keyFor(envelope);
    if (key === null) return cell.refuse(envelope, 'not_understood');
    let identity = this.#identities.get(key);
    if (identity === undefined) identity = new Identity(key);
    else if (identity.residency.kind === 'resident' && !identity.residency.cell.isEnding) {
      this.#use(identity);
      return this.#give(identity, identity.residency.cell, envelope);
    }
    const lengthMax = (this.#options.resident.mailbox ?? MAILBOX_DEFAULT).lengthMax;
    if (this.#held >= this.#options.heldMax || identity.heldLength >= lengthMax)
      return cell.refuse(envelope, 'mailbox_full');
    this.#identities.set(key, identity);
    if (identity.residency.kind === 'waiting') this.#waiting.add(identity);
    cell.runtime.counters.sent += 1; // H4
    this.#hold(identity, envelope);
    this.#passSoon();
    return true;
  }

  #keyFor({ message, name }: Envelope): string | null {
    try {
      const key: unknown = this.#keyOf(message, name);
      if (typeof key === 'string' && key.length > 0 && key.length <= KEY_LENGTH_MAX) return key;
    } catch (error) {
      // The sender's mistake or the key function's, which must not cost the others their household.
      this.#cell.runtime.log.warn(
        { actor: this.#cell.path, message: name, error: errorText(error) },
        'a message has no key',
      );
    }
    return null;
  }

  #give(identity: Identity, cell: Cell, envelope: Envelope): boolean {
    if (envelope.kind !== 'stream') return cell.post(envelope);
    identity.openStreams += 1;
    const asker = new CountedStreamAsker(envelope.asker, () => {
      identity.openStreams -= 1;
    });
    return cell.post({ ...envelope, asker });
  }

  #hold(identity: Identity, envelope: Envelope): void {
    identity.hold(envelope);
    this.#held += 1;
  }

  #takeHeld(identity: Identity): readonly Envelope[] {
    const held = identity.takeHeld();
    this.#held -= held.length;
    return held;
  }

  /** What an incarnation has not come to is its successor's; it was counted when it came. */
  #inherit(resident: Cell, envelope: Envelope): void {
    const identity = this.#identities.get(resident.options.id);
    if (identity === undefined || this.#cell.isEnding) {
      this.#cell.runtime.refuse(resident.path, envelope, 'terminated');
    } else this.#hold(identity, envelope);
  }

  #refuseHeld(identity: Identity, refusal: 'not_activated' | 'terminated'): void {
    const path = `${this.#cell.path}/${identity.key}`;
    for (const envelope of this.#takeHeld(identity)) this.#cell.runtime.refuse(path, envelope, refusal);
  }

  #close(): void {
    for (const identity of this.#identities.values()) this.#refuseHeld(identity, 'terminated');
  }

  // ---- Coming and going

  /** As a signal, so that no sender runs another actor's setup within its `tell`. */
  #passSoon(): void {
    if (this.#isPassDue) return;
    this.#isPassDue = true;
    this.#cell.signalNow(() => {
      this.#isPassDue = false;
      if (!this.#cell.isEnding) this.#pass();
    });
  }

  #pass(): void {
    for (const identity of this.#waiting) {
      if (this.#places >= this.#options.residentsMax) break;
      this.#waiting.delete(identity);
      this.#activate(identity);
    }
    if (this.#waiting.size > this.#leaving) this.#makeRoom(this.#waiting.size - this.#leaving);
    this.#setSweep();
  }

  #activate(identity: Identity): void {
    this.#places += 1;
    this.#activations += 1;
    const args = { key: identity.key, args: this.#args };
    const options = { ...this.#options.resident, id: identity.key, restart: 'temporary' } as const;
    const cell = this.#cell.children.start(child(this.#behaviour, args, options));
    if (!(cell instanceof Cell)) throw new Error(`${identity.key} lives elsewhere`);
    identity.residency = { kind: 'resident', cell };
    this.#use(identity);
    if (cell.isEnding) return; // its setup failed at once; `forgotten` comes
    for (const envelope of this.#takeHeld(identity)) {
      this.#cell.runtime.counters.sent -= 1; // H4
      this.#give(identity, cell, envelope);
    }
  }

  #makeRoom(wanted: number): void {
    let missing = wanted;
    let hasMail = false;
    // Who is found at work goes to the end of the set, and is not looked at twice.
    let looks = Math.min(this.#recent.size, LOOKS_PER_PASS);
    for (const identity of this.#recent) {
      if (missing === 0 || looks === 0) break;
      looks -= 1;
      if (this.#passivateIdle(identity)) missing -= 1;
      else hasMail ||= identity.hasMail;
    }
    if (missing === 0) return;
    // Those that have mail are through with it soon; for all others there is nothing to do but to wait.
    if (hasMail) void this.#cell.runtime.scheduler.turn().then(() => this.#passSoon());
    else this.#context.after('room', LOOK_AGAIN_MS, () => this.#passSoon());
  }

  /** False when it is at work; then it has been used just now. */
  #passivateIdle(identity: Identity): boolean {
    if (identity.residency.kind !== 'resident' || !identity.isIdle) {
      this.#use(identity);
      return false;
    }
    identity.residency = { kind: 'leaving', cell: identity.residency.cell };
    this.#recent.delete(identity);
    this.#leaving += 1;
    this.#passivations += 1;
    this.#context.background(this.#cell.children.stop(identity.key));
    return true;
  }

  /** ChildrenObserver: the incarnation has ended, and its id is free. */
  forgotten(key: string): void {
    const identity = this.#identities.get(key);
    if (identity === undefined || identity.residency.kind === 'waiting') return;
    const { kind, cell } = identity.residency;
    this.#places -= 1;
    this.#recent.delete(identity);
    if (kind === 'leaving') this.#leaving -= 1;
    // It came to nothing: neither will the next one, whose senders would wait without end.
    else if (cell.handled === 0) this.#refuseHeld(identity, 'not_activated');
    identity.residency = { kind: 'waiting' };
    if (identity.heldLength === 0) this.#identities.delete(key);
    else this.#waiting.add(identity);
    if (this.#waiting.size > 0) this.#passSoon();
  }

  /** It comes to its mail now, and is idle soon. */
  started(_key: string, _handle: ChildHandle): void {
    if (this.#waiting.size > 0) this.#passSoon();
  }

  left(_key: string): void {}

  // ---- Time

  #use(identity: Identity): void {
    identity.usedAtMs = this.#cell.runtime.clock.monotonicMs();
    this.#recent.delete(identity);
    this.#recent.add(identity);
  }

  /** One timer for all: for the one that has been idle longest. */
  #setSweep(): void {
    if (this.#isSweepSet) return;
    const first = this.#recent.values().next().value;
    if (first === undefined) return;
    this.#isSweepSet = true;
    const dueInMs = first.usedAtMs + this.#options.idleMs - this.#cell.runtime.clock.monotonicMs();
    this.#context.after('sweep', Math.max(1, dueInMs), () => {
      this.#isSweepSet = false;
      this.#sweep();
    });
  }

  #sweep(): void {
    const nowMs = this.#cell.runtime.clock.monotonicMs();
    let looks = this.#recent.size;
    for (const identity of this.#recent) {
      if (looks === 0 || nowMs - identity.usedAtMs < this.#options.idleMs) break;
      looks -= 1;
      this.#passivateIdle(identity);
    }
    this.#setSweep();
  }
}
