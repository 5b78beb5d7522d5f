// Pace: how much text is a batch, by how long a model took for the last ones. Owned by the dispatcher.
// P1 A batch is BATCH_MS of work, so that threads share what there is to the end: with a slow model, 32 texts on one thread would
//    leave the other one without work for a second. What is quick, or worked out elsewhere, comes in batches of full size.

import type { EngineRecord } from './engine-lock.ts';
import { BATCH_LENGTH_MAX, type Work } from './work-queue.ts';

const BATCH_MS = 100;
/** Of a new measurement in the mean. */
const NEWS_SHARE = 0.2;
/** The current one and the next one, and some that they were before. */
const ENGINES_MAX = 8;

export class Pace {
  readonly #msPerCharacter = new Map<string, number>();

  /** P1. In characters. */
  batchLength({ id }: EngineRecord): number {
    const msPerCharacter = this.#msPerCharacter.get(id) ?? 0;
    return Math.min(BATCH_LENGTH_MAX, BATCH_MS / msPerCharacter);
  }

  learn({ id }: EngineRecord, works: readonly Work[], busyMs: number): void {
    const length = works.reduce((sum, { text }) => sum + text.length, 0);
    if (length === 0) return;
    const measured = busyMs / length;
    const known = this.#msPerCharacter.get(id);
    if (known === undefined && this.#msPerCharacter.size === ENGINES_MAX) this.#msPerCharacter.clear();
    this.#msPerCharacter.set(id, known === undefined ? measured : known + NEWS_SHARE * (measured - known));
  }
}
