// Asking: the texts of one request, and what has come of them so far. Owned by the dispatcher.
// X1 It ends once: with all of its vectors, with the first failure, or when its asker leaves. What it still waited for then is
//    given up.

import type { CachedVector } from './vector-cache.ts';
import type { Work } from './work-queue.ts';

export interface MadeVectors {
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

export class Asking {
  /** Rejects with the failure, or with why the asker left. */
  readonly made: Promise<MadeVectors>;
  readonly #settle: PromiseWithResolvers<MadeVectors>;
  readonly #signal: AbortSignal;
  readonly #giveUp: (works: readonly Work[]) => void;
  readonly #vectors: Float32Array[];
  readonly #works: Work[] = [];
  #missing: number;
  #tokens = 0;
  #hasEnded = false;
  readonly #leave = (): void => this.failed(this.#signal.reason);

  constructor(texts: number, signal: AbortSignal, giveUp: (works: readonly Work[]) => void) {
    this.#settle = Promise.withResolvers();
    this.made = this.#settle.promise;
    this.#signal = signal;
    this.#giveUp = giveUp;
    this.#vectors = new Array<Float32Array>(texts);
    this.#missing = texts;
    if (signal.aborted) this.#leave();
    else signal.addEventListener('abort', this.#leave, { once: true });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  waitsFor(work: Work): void {
    this.#works.push(work);
  }

  done(index: number, { vector, tokens }: CachedVector): void {
    this.#vectors[index] = vector;
    this.#tokens += tokens;
    this.#missing -= 1;
    if (this.#missing > 0 || !this.#end()) return;
    this.#settle.resolve({ vectors: this.#vectors, tokens: this.#tokens });
  }

  failed(error: unknown): void {
    if (!this.#end()) return;
    this.#giveUp(this.#works);
    this.#settle.reject(error);
  }

  /** X1. */
  #end(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#signal.removeEventListener('abort', this.#leave);
    return true;
  }
}
