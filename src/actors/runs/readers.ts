// Readers: who follows which live run. A reader is a cursor into the journal and, when it has read all there is, a wake-up.
// D1 Joining replay and live tail leaves no gap and repeats nothing: the reader looks at the journal again after it has
//    asked to be woken.
// D2 `close` is shown when the run's record is settled, so that a client that lists its runs then sees the end.

import type { RunFrame } from './protocol.ts';
import type { RunStore } from './store.ts';

/** One write to a reader's socket; a stopped reader holds a few of these at most. */
const BATCH_BYTES_MAX = 16_384;
const BATCH_ENTRIES_MAX = 512;

export class Readers {
  readonly #store: RunStore;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(store: RunStore) {
    this.#store = store;
  }

  /** Something was appended, or the run was settled. */
  wake(run: string): void {
    const waiting = this.#waiting.get(run);
    if (waiting === undefined) return;
    this.#waiting.delete(run);
    for (const wake of waiting) wake();
  }

  /** Events after `after`, oldest first, in batches; ends after `close`, or when the run is settled and all is read. */
  async *follow(
    run: string,
    after: number,
    isLive: () => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<RunFrame[]> {
    let cursor = after;
    while (!signal.aborted) {
      // Asked before the journal is looked at: what is appended in between wakes the next round (D1).
      const wakened = this.#wakeUp(run, signal);
      const wasLive = isLive();
      const entries = this.#store.journals.read(run, cursor, {
        bytesMax: BATCH_BYTES_MAX,
        entriesMax: BATCH_ENTRIES_MAX,
      });
      const last = entries.at(-1);
      if (last !== undefined) {
        wakened.cancel();
        cursor = last.seq;
        const frames = entries.map(({ seq, value: [event, data] }) => ({ seq, event, data }));
        if (last.value[0] !== 'close') {
          yield frames;
          continue;
        }
        if (frames.length > 1) yield frames.slice(0, -1);
        await this.#settled(run, isLive, signal);
        yield frames.slice(-1);
        return;
      }
      if (!wasLive) {
        wakened.cancel();
        return;
      }
      await wakened.promise;
    }
  }

  /** D2. */
  async #settled(run: string, isLive: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wakened = this.#wakeUp(run, signal);
      if (!isLive()) {
        wakened.cancel();
        return;
      }
      await wakened.promise;
    }
  }

  #wakeUp(run: string, signal: AbortSignal): { readonly promise: Promise<void>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(run) ?? new Set();
    this.#waiting.set(run, waiting);
    const cancel = (): void => {
      waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      if (waiting.size === 0 && this.#waiting.get(run) === waiting) this.#waiting.delete(run);
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
