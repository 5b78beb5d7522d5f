// JournalTail: follows journals that are still being written, on the thread of the readers. A reader is a cursor and, when it
// has read all there is, a wake-up; it holds nothing else.
// D1 Joining replay and live tail leaves no gap and repeats nothing: a reader asks to be woken before it looks at the journal.
// D2 Whoever hears of a commit calls `wake`: the writer may live on another thread, whose commits are seen here at once (S1).

import type { JournalEntry, Journals } from './contract.ts';

/** One batch: what a reader handles in one go, and what a stopped reader holds. */
const BATCH_BYTES_MAX = 16_384;
const BATCH_ENTRIES_MAX = 512;

export class JournalTail<Value> {
  readonly #journals: Journals<Value>;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(journals: Journals<Value>) {
    this.#journals = journals;
  }

  /** Something was committed, or the journal was closed. */
  wake(journal: string): void {
    const waiting = this.#waiting.get(journal);
    if (waiting === undefined) return;
    this.#waiting.delete(journal);
    for (const wake of waiting) wake();
  }

  /** Entries after `afterSeq`, oldest first, in batches; ends when the journal is no longer open and all is read. */
  async *follow(
    journal: string,
    afterSeq: number,
    isOpen: () => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<readonly JournalEntry<Value>[]> {
    let cursor = afterSeq;
    while (!signal.aborted) {
      const wakened = this.#wakeUp(journal, signal); // D1
      const wasOpen = isOpen();
      const entries = this.#journals.read(journal, cursor, {
        bytesMax: BATCH_BYTES_MAX,
        entriesMax: BATCH_ENTRIES_MAX,
      });
      const last = entries.at(-1);
      if (last !== undefined) {
        wakened.cancel();
        cursor = last.seq;
        yield entries;
      } else if (wasOpen) await wakened.promise;
      else {
        wakened.cancel();
        return;
      }
    }
  }

  /** Resolves when the journal is no longer open, or the signal is aborted. */
  async closed(journal: string, isOpen: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wakened = this.#wakeUp(journal, signal);
      if (!isOpen()) {
        wakened.cancel();
        return;
      }
      await wakened.promise;
    }
  }

  #wakeUp(journal: string, signal: AbortSignal): { readonly promise: Promise<void>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(journal) ?? new Set();
    this.#waiting.set(journal, waiting);
    const cancel = (): void => {
      waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      if (waiting.size === 0 && this.#waiting.get(journal) === waiting) this.#waiting.delete(journal);
    };
    const wake = (): void => {
      cancel();
      resolve();
    };
    waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    return { promise, cancel };
  }
}
