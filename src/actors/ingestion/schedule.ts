// Schedule: which document is read next, and which are. Pure bookkeeping, no I/O.
// H1 Workspaces take turns: next is the oldest document of the workspace that was served longest ago.
// H2 A document is read once at a time, whatever becomes of it meanwhile.
// H3 After a failure that may pass, a document waits, each time twice as long; others go on. Wall time, which may be set back,
//    has no part in it.

import type { IngestionStage, PendingDocument } from '../workspaces/protocol.ts';
import { ownerOf } from './document-store.ts';

const DELAY_FIRST_MS = 1_000;
const DELAY_MAX_MS = 60_000;

export interface Reading {
  readonly document: PendingDocument;
  readonly controller: AbortController;
  stage: IngestionStage;
  /** Of the stage; null where nobody knows. */
  fraction: number | null;
}

interface Delay {
  readonly revision: number;
  readonly untilMs: number;
  readonly delayMs: number;
}

export class Schedule {
  readonly #live = new Map<string, Reading>();
  readonly #delays = new Map<string, Delay>();
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  #pending: readonly PendingDocument[] = [];

  get liveCount(): number {
    return this.#live.size;
  }

  get isIdle(): boolean {
    return this.#live.size === 0 && this.#pending.length === 0;
  }

  live(): Iterable<Reading> {
    return this.#live.values();
  }

  find(documentId: string): Reading | undefined {
    return this.#live.get(documentId);
  }

  get waitingCount(): number {
    return this.#pending.filter(({ document_id }) => !this.#live.has(document_id)).length;
  }

  /** The documents that wait, the oldest first; readings of older revisions are stopped. */
  setPending(pending: readonly PendingDocument[]): void {
    this.#pending = pending;
    const ids = new Set(pending.map(({ document_id }) => document_id));
    for (const { document_id, revision } of pending) {
      const reading = this.#live.get(document_id);
      if (reading !== undefined && reading.document.revision !== revision) reading.controller.abort();
      if (this.#delays.get(document_id)?.revision !== revision) this.#delays.delete(document_id);
    }
    for (const id of [...this.#delays.keys()]) if (!ids.has(id)) this.#delays.delete(id);
    const owners = new Set(pending.map(ownerOf));
    for (const owner of [...this.#servedAt.keys()]) if (!owners.has(owner)) this.#servedAt.delete(owner);
  }

  /** H1 to H3. */
  begin(nowMs: number): Reading | null {
    const firstOf = new Map<string, PendingDocument>();
    for (const document of this.#pending) {
      const { document_id } = document;
      const delay = this.#delays.get(document_id);
      if (this.#live.has(document_id) || (delay !== undefined && delay.untilMs > nowMs)) continue;
      const owner = ownerOf(document);
      if (!firstOf.has(owner)) firstOf.set(owner, document);
    }
    const turnOf = (owner: string): number => this.#servedAt.get(owner) ?? -1;
    const [next] = [...firstOf].sort(([one], [other]) => turnOf(one) - turnOf(other));
    if (next === undefined) return null;
    const [owner, document] = next;
    this.#servedAt.set(owner, this.#served);
    this.#served += 1;
    const reading: Reading = {
      document,
      controller: new AbortController(),
      stage: 'reading',
      fraction: null,
    };
    this.#live.set(document.document_id, reading);
    return reading;
  }

  /** It is not pending any more, or is looked at again with the next list. */
  end({ document }: Reading): void {
    this.#live.delete(document.document_id);
    this.#pending = this.#pending.filter(
      ({ document_id, revision }) => document_id !== document.document_id || revision !== document.revision,
    );
  }

  /** In how many milliseconds the first may begin of those that are put off; null if none is. */
  delayLeftMs(nowMs: number): number | null {
    let leftMs = Number.POSITIVE_INFINITY;
    for (const { untilMs } of this.#delays.values()) {
      if (untilMs > nowMs) leftMs = Math.min(leftMs, untilMs - nowMs);
    }
    return leftMs === Number.POSITIVE_INFINITY ? null : leftMs;
  }

  /** H3. Answers in how many milliseconds it may begin again. */
  delay({ document }: Reading, nowMs: number): number {
    const { document_id, revision } = document;
    const before = this.#delays.get(document_id);
    const delayMs = Math.min(before === undefined ? DELAY_FIRST_MS : before.delayMs * 2, DELAY_MAX_MS);
    this.#delays.set(document_id, { revision, delayMs, untilMs: nowMs + delayMs });
    this.#live.delete(document_id);
    return delayMs;
  }
}
