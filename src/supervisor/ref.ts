// ActorRef: tell, ask and stream over anything that takes envelopes: a cell on this thread, a link, or a name.
// A ref that the context gave to an actor has that actor for its owner: what was asked through it ends with the owner.

import type { Fault } from '../std/errors.ts';
import type { Deadlines } from './deadlines.ts';
import type { Envelope, Owner } from './envelope.ts';
import { ASK_DEADLINE_MS, PendingAsk } from './pending-ask.ts';
import type { Address, AskOptions, Protocol, Ref } from './protocol.ts';
import { StreamInlet } from './streams.ts';

export interface Target {
  readonly path: string;
  /** Null for a name, whose bearer may change. */
  readonly address: Address | null;
  /** On this thread only: where an actor is that has no address yet (see threads/pending-child.ts). */
  readonly location?: Address;
  /** Takes the envelope, or refuses it: then its asker has been failed, and it has been counted. */
  post(envelope: Envelope): boolean;
}

export class ActorRef {
  readonly #target: Target;
  readonly #deadlines: Deadlines;
  readonly #owner: Owner | null;

  constructor(target: Target, deadlines: Deadlines, owner: Owner | null) {
    this.#target = target;
    this.#deadlines = deadlines;
    this.#owner = owner;
  }

  get path(): string {
    return this.#target.path;
  }

  get address(): Address | null {
    return this.#target.address;
  }

  get location(): Address | null {
    return this.#target.location ?? this.#target.address;
  }

  tell(name: string, message: unknown): boolean {
    return this.#target.post({ kind: 'tell', name, message, origin: null });
  }

  ask(name: string, message: unknown, options?: AskOptions): Promise<unknown> {
    return new Promise((resolve, reject: (fault: Fault) => void) => {
      const deadlineMs = options?.deadlineMs ?? ASK_DEADLINE_MS;
      const asker = new PendingAsk(this.#target.path, name, deadlineMs, resolve, reject);
      if (options?.signal !== undefined) asker.obey(options.signal);
      if (asker.isSettled) return;
      this.#target.post({ kind: 'call', name, message, origin: null, asker });
      // It may have been refused already; only what is open needs a deadline and an owner.
      if (asker.isSettled) return;
      this.#deadlines.add(deadlineMs, asker);
      if (this.#owner !== null) asker.belongTo(this.#owner);
    });
  }

  stream(
    name: string,
    message: unknown,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterableIterator<unknown> {
    const inlet = new StreamInlet<unknown>();
    if (options?.signal !== undefined) inlet.obey(options.signal);
    if (!inlet.isEnded) this.#target.post({ kind: 'stream', name, message, origin: null, asker: inlet });
    if (this.#owner !== null) inlet.belongTo(this.#owner);
    return inlet;
  }
}

/** The same ref, seen through its protocol. */
export function typed<P extends Protocol>(ref: ActorRef): Ref<P> {
  return ref as unknown as Ref<P>;
}

export function addressOf(target: Ref<Protocol> | Address): Address | null {
  return target instanceof ActorRef ? target.location : (target as Address);
}

/** @throws when it is a name: what is watched or linked to is one incarnation. */
export function incarnationOf(target: Ref<Protocol> | Address): Address {
  const address = addressOf(target);
  if (address === null)
    throw new Error(`a name cannot be linked to or watched (${target.path}): take the actor that bears it`);
  return address;
}
