// Readers: the tail of a run's journal as its readers see it.
// `close` is shown when the run's record is settled, so that a client that lists its runs then sees the end.

import { JournalTail } from '../../storage/journal-tail.ts';
import type { JournaledEvent } from './events.ts';
import type { RunFrame } from './protocol.ts';
import type { RunStore } from './store.ts';

export class Readers {
  readonly #tail: JournalTail<JournaledEvent>;

  constructor(store: RunStore) {
    this.#tail = new JournalTail(store.journals);
  }

  /** Something was appended, or the run was settled. */
  wake(run: string): void {
    this.#tail.wake(run);
  }

  /** Events after `after`, oldest first, in batches; ends after `close`, or when the run is settled and all is read. */
  async *follow(
    run: string,
    after: number,
    isLive: () => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<RunFrame[]> {
    for await (const entries of this.#tail.follow(run, after, isLive, signal)) {
      const frames = entries.map(({ seq, value: [event, data] }) => ({ seq, event, data }));
      if (frames.at(-1)?.event !== 'close') {
        yield frames;
        continue;
      }
      if (frames.length > 1) yield frames.slice(0, -1);
      await this.#tail.closed(run, isLive, signal);
      yield frames.slice(-1);
      return;
    }
  }
}
