// Routee: one seat of a router's pool. The seat stays, its incarnations come and go.

import { Cell } from '../cell.ts';
import type { ChildHandle } from '../children.ts';
import type { Envelope } from '../envelope.ts';
import { passOn } from '../forwarding.ts';
import type { Address } from '../protocol.ts';
import type { Target } from '../ref.ts';
import type { Runtime } from '../runtime.ts';
import { Load } from './load.ts';
import { hashOf } from './rendezvous.ts';

interface Incarnation {
  readonly handle: ChildHandle;
  readonly target: Target;
  /** Null on another thread. */
  readonly cell: Cell | null;
  readonly load: Load;
}

export class Routee {
  readonly id: string;
  /** Of the seat, so that a successor keeps the keys of its predecessor. */
  readonly hash: number;
  readonly path: string;
  #incarnation: Incarnation | null = null;

  constructor(id: string, path: string) {
    this.id = id;
    this.hash = hashOf(id);
    this.path = path;
  }

  /** Mail may be sent to it. A routee that ends on another thread is known to do so a moment later. */
  get isUp(): boolean {
    const incarnation = this.#incarnation;
    if (incarnation === null || incarnation.handle.isTerminated === true) return false;
    return incarnation.cell?.isEnding !== true;
  }

  get address(): Address | null {
    return this.#incarnation?.target.address ?? null;
  }

  /** What it was given by `postCounted` and is not done with. */
  get load(): number {
    return this.#incarnation?.load.weight ?? 0;
  }

  seat(handle: ChildHandle, runtime: Runtime): void {
    const { thread, actor } = handle;
    const cell = handle instanceof Cell ? handle : null;
    const target = cell ?? runtime.targetOf({ thread, actor, path: this.path });
    this.#incarnation = { handle, target, cell, load: new Load(target, cell !== null) };
  }

  vacate(): void {
    this.#incarnation?.load.close();
    this.#incarnation = null;
  }

  /** It is up. */
  post(envelope: Envelope): boolean {
    if (this.#incarnation === null) return false;
    const { target, cell } = this.#incarnation;
    return passOn(envelope, target, cell !== null, envelope.origin);
  }

  /** The same, and its load knows of it. */
  postCounted(envelope: Envelope): boolean {
    return this.#incarnation?.load.post(envelope) ?? false;
  }
}
