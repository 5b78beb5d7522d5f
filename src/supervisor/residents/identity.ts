// Identity: one key of a residents actor while it is resident, or has mail. One that is neither is not kept at all.

import type { Cell } from '../cell.ts';
import type { Envelope } from '../envelope.ts';
import { Mailbox } from '../mailbox.ts';

export type Residency =
  /** Has mail, and waits for a place. */
  | { readonly kind: 'waiting' }
  /** Being set up, or at work, or ended by itself a moment ago. */
  | { readonly kind: 'resident'; readonly cell: Cell }
  /** Being passivated. */
  | { readonly kind: 'leaving'; readonly cell: Cell };

/** The residents actor bounds it. */
const UNBOUNDED = { lengthMax: Number.POSITIVE_INFINITY, whenFull: 'reject' } as const;

export class Identity {
  readonly key: string;
  residency: Residency = { kind: 'waiting' };
  /** When it was last sent something, or found at work. */
  usedAtMs = 0;
  openStreams = 0;
  #held: Mailbox<Envelope> | null = null;

  constructor(key: string) {
    this.key = key;
  }

  get heldLength(): number {
    return this.#held?.length ?? 0;
  }

  hold(envelope: Envelope): void {
    this.#held ??= new Mailbox(UNBOUNDED);
    this.#held.push(envelope);
  }

  /** In order; none is held any more. */
  takeHeld(): readonly Envelope[] {
    const held = this.#held === null ? [] : [...this.#held.drain()];
    this.#held = null;
    return held;
  }

  /** Its incarnation is not through with its mail. */
  get hasMail(): boolean {
    return this.residency.kind === 'resident' && this.residency.cell.hasWork;
  }

  /** A place that can be had: its incarnation has nothing to do, and nothing that it waits for. */
  get isIdle(): boolean {
    if (this.residency.kind !== 'resident') return false;
    const { cell } = this.residency;
    return (
      cell.state === 'running' &&
      cell.mailboxLength === 0 &&
      !cell.hasWork &&
      cell.openWork === 0 &&
      this.openStreams === 0
    );
  }
}
