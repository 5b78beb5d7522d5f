// HandlerInquiry: what a handler sees of its asker. The signal costs nothing unless the handler looks at it.

import type { Inquiry } from './actor.ts';
import type { Cell } from './cell.ts';
import type { Asker } from './envelope.ts';

export class HandlerInquiry implements Inquiry {
  readonly #cell: Cell;
  readonly #asker: Asker | null;
  #controller: AbortController | null = null;
  #forget: (() => void) | null = null;
  #isAbandoned = false;

  /** Without an asker (a stream, whose outlet hears of its end) the owner calls `abandon` itself. */
  constructor(cell: Cell, asker: Asker | null) {
    this.#cell = cell;
    this.#asker = asker;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#isAbandoned || this.#cell.isEnding) this.#controller.abort();
      else {
        this.#forget = this.#cell.whenEnding(() => this.abandon());
        this.#asker?.onAbandoned(() => this.abandon());
      }
    }
    return this.#controller.signal;
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.close();
    this.#controller?.abort();
  }

  /** True for the error of work that stopped because this inquiry's own signal told it to: no bug. */
  excuses(error: unknown): boolean {
    return this.#isAbandoned && error instanceof Error && error.name === 'AbortError';
  }

  /** Answered: nothing aborts the signal any more. */
  close(): void {
    this.#forget?.();
    this.#forget = null;
  }
}
