// Readers: the tail of a run's journal as its readers see it.
// `close` is shown when the run's record is settled, so that a client that lists its runs then sees the end.

import { JournalTail } from '../../storage/journal-tail.ts';
import type { JournaledEvent } from './events.ts';
import type { RunFrame } from './protocol.ts';
import type { RunStore } from './store.ts';

export class Readers {
  readonly #tail: JournalTail<JournaledEvent, RunFrame>;

  constructor({ journals }: Pick<RunStore, 'journals'>) {
    this.#tail = new JournalTail<JournaledEvent, RunFrame>(journals, {
      show: ({ seq, value: [event, data] }) => ({ seq, event, data }),
      isClosing: ([event]) => event === 'close',
    });
  }

  /** Events up to that number were appended; without one: something was, or the run was settled. */
  wake(run: string, seq: number | null = null): void {
    this.#tail.wake(run, seq);
  }

  /** Events after `after`, oldest first, in batches; ends after `close`, or when the run is settled and all is read. */
  follow(run: string, after: number, isLive: () => boolean): AsyncIterableIterator<readonly RunFrame[]> {
    return this.#tail.follow(run, after, isLive);
  }
}
