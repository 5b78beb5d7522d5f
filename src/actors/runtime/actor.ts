// Runtime: shows the actor system to clients. Owns nothing but its readers; asks the kernel's introspection.
// R1 Nothing is computed while nobody looks, and one snapshot serves all who look at the same time.
// R2 At most WATCHERS_MAX readers; one that is slow gets fewer snapshots, and is told of the dead letters that it missed.

import { actor } from '../../supervisor/actor.ts';
import type { Batch, DeadLetterReport } from '../../supervisor/introspection/contract.ts';
import { Tap } from '../../supervisor/introspection/tap.ts';
import {
  INTERVAL_DEFAULT_MS,
  type RuntimeFrame,
  type RuntimeSnapshot,
  runtime,
  runtimeFaults,
  WATCHERS_MAX,
} from './protocol.ts';
import { deadLetterRow, snapshotView } from './view.ts';

/** What a reader is told of the time before it came. */
const LETTERS_BEFORE_MS = 60_000;
/** A snapshot is as good as new for so long. */
const FRESH_MS = 200;

export const runtimeActor = actor({
  module: import.meta.url,
  exportName: 'runtimeActor',
  protocol: runtime,
  setup(context) {
    const { clock, introspection } = context;
    const readers = new Set<number>();
    let readerNext = 1;
    let latest: { readonly atMs: number; readonly taken: Promise<RuntimeSnapshot> } | null = null;

    /** R1. */
    const look = (): Promise<RuntimeSnapshot> => {
      const nowMs = clock.monotonicMs();
      if (latest === null || nowMs - latest.atMs >= FRESH_MS) {
        latest = { atMs: nowMs, taken: introspection.snapshot().then(snapshotView) };
      }
      return latest.taken;
    };

    async function* frames(tap: Tap<DeadLetterReport>, isDue: () => boolean): AsyncGenerator<RuntimeFrame[]> {
      for await (const { items, missed } of tap) {
        const batch = missed > 0 ? [frame('dead_letters_missed', { count: missed })] : [];
        for (const letter of items) batch.push(frame('dead_letter', deadLetterRow(letter)));
        if (isDue()) batch.push(frame('snapshot', await look()));
        if (batch.length > 0) yield batch;
      }
    }

    return {
      snapshot: () => look(),
      threads: async () => ({ threads: (await look()).threads }),
      watch({ interval_ms = INTERVAL_DEFAULT_MS }, { signal }) {
        if (readers.size >= WATCHERS_MAX) {
          throw runtimeFaults.runtime_watchers_exhausted(`${WATCHERS_MAX} are watching already`); // R2
        }
        const reader = readerNext;
        readerNext += 1;
        readers.add(reader);
        let isDue = true;
        const letters = introspection.deadLetters({ sinceMs: clock.nowMs() - LETTERS_BEFORE_MS });
        const tap = new Tap<DeadLetterReport>(() => {
          readers.delete(reader);
          stopTicking();
          void letters.return?.();
        });
        const stopTicking = context.every(`reader ${reader}`, interval_ms, () => {
          isDue = true;
          tap.wake();
        });
        signal.addEventListener('abort', () => tap.close());
        context.background(pour(letters, tap));
        tap.wake();
        return frames(tap, () => {
          const wasDue = isDue;
          isDue = false;
          return wasDue;
        });
      },
    };
  },
});

async function pour(
  letters: AsyncIterable<Batch<DeadLetterReport>>,
  tap: Tap<DeadLetterReport>,
): Promise<void> {
  for await (const batch of letters) tap.pour(batch);
}

function frame(event: RuntimeFrame['event'], data: object): RuntimeFrame {
  return { event, data: JSON.stringify(data) };
}
