// Outlet: what a call says on its way to its one reader.
// O1 A slow reader gets the newest progress report, not all of them; so there is never more than one to keep.
// O2 The answer is the last word; a failure is thrown to the reader.

import type { CallNews, OutwardAnswer } from './protocol.ts';

export class Outlet {
  #progress: string | null = null;
  #end: { readonly answer: OutwardAnswer } | { readonly failure: unknown } | null = null;
  #wake = Promise.withResolvers<void>();

  readonly progress = (message: string): void => {
    this.#progress = message; // O1
    this.#wake.resolve();
  };

  answer(answer: OutwardAnswer): void {
    this.#end ??= { answer };
    this.#wake.resolve();
  }

  fail(failure: unknown): void {
    this.#end ??= { failure };
    this.#wake.resolve();
  }

  /** Ends without an answer when the signal is aborted. */
  async *news(signal: AbortSignal): AsyncGenerator<CallNews, void, undefined> {
    const stop = (): void => this.#wake.resolve();
    signal.addEventListener('abort', stop, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#end !== null) {
          if ('failure' in this.#end) throw this.#end.failure; // O2
          yield { kind: 'answer', answer: this.#end.answer };
          return;
        }
        if (this.#progress !== null) {
          const message = this.#progress;
          this.#progress = null;
          yield { kind: 'progress', message };
          continue;
        }
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
