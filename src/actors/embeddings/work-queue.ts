// WorkQueue: the texts that wait for a thread, each once, whoever asked for it. Owned by the dispatcher, on the edge.
// W1 What is interactive and what is bulk wait apart. The same text may wait in both: a query does not wait behind an upload
//    that happens to hold its words.
// W2 A batch is of one engine and one kind. It is filled from near the head of the queue, so that nothing waits for long
//    because others fit together better.
// W3 Suspects were in a batch whose thread died, or that failed for one of its texts. They go alone, and before all others
//    of their priority.

import type { Asking } from './asking.ts';
import type { EngineRecord } from './engine-lock.ts';
import type { Priority, TextKind } from './protocol.ts';

/** As many as a batch has; more would wait for each other. */
export const BATCH_TEXTS_MAX = 32;
/** Of the texts of a batch together, in characters: it crosses to its thread in one piece. */
export const BATCH_LENGTH_MAX = 1_000_000;
/** W2. */
const LOOK_AHEAD_MAX = 256;

/** Who wants the vector of a text, and which of its texts it is. */
export interface Wanted {
  readonly asking: Asking;
  readonly index: number;
}

/** What a thread is given at once. */
export interface Batch {
  readonly works: readonly Work[];
  /** Those that somebody still waits for. */
  awaited: number;
  readonly abort: AbortController;
}

export interface Work {
  /** Of engine, kind and text. */
  readonly key: string;
  readonly text: string;
  readonly engine: EngineRecord;
  readonly kind: TextKind;
  readonly priority: Priority;
  readonly sinceMs: number;
  /** Empty when nobody waits for it any more. */
  wanted: Wanted[];
  /** Null while it waits. */
  batch: Batch | null;
  isSuspect: boolean;
}

export class WorkQueue {
  readonly #waiting = new Set<Work>();
  readonly #suspects = new Set<Work>();
  #length = 0;

  get texts(): number {
    return this.#waiting.size;
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** Of all texts that wait, in characters. */
  get length(): number {
    return this.#length;
  }

  /** When the one that has waited longest came; null when none waits. */
  get sinceMs(): number | null {
    for (const { sinceMs } of this.#waiting) return sinceMs;
    return null;
  }

  add(work: Work): void {
    (work.isSuspect ? this.#suspects : this.#waiting).add(work);
    this.#length += work.text.length;
  }

  /** False when it does not wait any more. */
  remove(work: Work): boolean {
    const isThere = this.#waiting.delete(work) || this.#suspects.delete(work);
    if (isThere) this.#length -= work.text.length;
    return isThere;
  }

  /** W3. */
  takeSuspect(): Work | null {
    for (const work of this.#suspects) {
      this.remove(work);
      return work;
    }
    return null;
  }

  /** W2. Empty when nothing waits; one text at least otherwise, however long. */
  takeBatch(lengthMax: (engine: EngineRecord) => number): Work[] {
    const batch: Work[] = [];
    let length = 0;
    let seen = 0;
    for (const work of this.#waiting) {
      seen += 1;
      const first = batch[0] ?? work;
      const isSameKind = work.engine.id === first.engine.id && work.kind === first.kind;
      if (isSameKind && (batch.length === 0 || length + work.text.length <= lengthMax(first.engine))) {
        batch.push(work);
        length += work.text.length;
      }
      if (batch.length === BATCH_TEXTS_MAX || seen === LOOK_AHEAD_MAX) break;
    }
    for (const work of batch) this.remove(work);
    return batch;
  }

  drain(): Work[] {
    const all = [...this.#suspects, ...this.#waiting];
    this.#suspects.clear();
    this.#waiting.clear();
    this.#length = 0;
    return all;
  }
}
