// Joining replay and live tail: whatever happens in between, a reader sees each event once, in order (D1), and the close
// last (D2).

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JournaledEvent } from '../../../src/actors/runs/events.ts';
import type { RunFrame } from '../../../src/actors/runs/protocol.ts';
import { Readers } from '../../../src/actors/runs/readers.ts';
import type { RunStore } from '../../../src/actors/runs/store.ts';
import type { Journals } from '../../../src/storage/contract.ts';

/** One run whose journal is an array. */
class RunDouble {
  readonly events: JournaledEvent[] = [];
  isLive = true;
  readonly #readers = new Readers({ journals: { read: this.#read.bind(this) } } as unknown as RunStore);

  #read(...[, afterSeq, limits]: Parameters<Journals<JournaledEvent>['read']>) {
    return this.events
      .slice(afterSeq, afterSeq + Math.min(limits?.entriesMax ?? 1_000, 3))
      .map((value, i) => ({ seq: afterSeq + 1 + i, value }));
  }

  append(event: string, count = 1): void {
    for (let i = 0; i < count; i += 1) this.events.push([event, `{"n":${this.events.length + 1}}`]);
  }

  /** As the run's journal tells of a commit, or without a number. */
  wake(seq?: number): void {
    this.#readers.wake('r', seq);
  }

  settle(): void {
    this.isLive = false;
    this.wake();
  }

  follow(after = 0): AsyncIterableIterator<readonly RunFrame[]> {
    return this.#readers.follow('r', after, () => this.isLive);
  }

  /** The numbers that a reader is shown, to its end. */
  async read(after = 0, onBatch: () => unknown = () => undefined): Promise<number[]> {
    const numbers: number[] = [];
    for await (const batch of this.follow(after)) {
      numbers.push(...batch.map(({ seq }) => seq ?? Number.NaN));
      await onBatch();
    }
    return numbers;
  }
}

const upTo = (last: number, from = 1): number[] =>
  Array.from({ length: last - from + 1 }, (_, i) => from + i);
const ticks = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await Promise.resolve();
};

describe('joining a live run', () => {
  test('shows every event once and in order, whenever the reader joins and however slowly it reads', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('append' as const),
        count: fc.integer({ min: 1, max: 5 }),
        published: fc.constantFrom('no', 'yes', 'without a number'),
      }),
      fc.record({ kind: fc.constant('join' as const), after: fc.nat(12), pace: fc.nat(6) }),
      fc.record({ kind: fc.constant('wait' as const), ticks: fc.nat(8) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(8), async (steps, lastWait) => {
        const run = new RunDouble();
        const readings: { readonly after: number; readonly numbers: Promise<number[]> }[] = [];
        for (const step of steps) {
          if (step.kind === 'wait') await ticks(step.ticks);
          else if (step.kind === 'append') {
            run.append('chunk', step.count);
            if (step.published !== 'no') run.wake(step.published === 'yes' ? run.events.length : undefined);
          } else {
            const { after, pace } = step;
            readings.push({ after, numbers: run.read(after, () => ticks(pace)) });
          }
        }
        run.append('close');
        run.wake();
        await ticks(lastWait);
        run.settle();
        for (const { after, numbers } of readings)
          expect(await numbers).toEqual(upTo(run.events.length, after + 1));
      }),
    );
  });

  test('shows the close when the run is settled, and not before', async () => {
    const run = new RunDouble();
    run.append('done');
    run.append('close');
    let batches = 0;
    const reading = run.read(0, () => {
      batches += 1;
    });
    await ticks(50);
    expect(batches).toBe(1);
    run.settle();
    expect(await reading).toEqual([1, 2]);
  });

  test('ends at once when the reader leaves, whatever it waits for', async () => {
    for (const events of [[], ['chunk'], ['close']]) {
      const run = new RunDouble();
      for (const event of events) run.append(event);
      const reader = run.follow();
      const reading = Array.fromAsync(reader);
      await ticks(20);
      await reader.return?.();
      const numbers = (await reading).flat().map(({ seq }) => seq);
      expect(numbers).toEqual(events.includes('close') ? [] : upTo(events.length));
    }
  });
});

describe('a run that is over', () => {
  test('is shown to its close, from any event', async () => {
    const run = new RunDouble();
    run.append('chunk', 10);
    run.append('close');
    run.isLive = false;
    expect(await run.read()).toEqual(upTo(11));
    expect(await run.read(7)).toEqual([8, 9, 10, 11]);
    expect(await run.read(11)).toEqual([]);
  });

  test('ends without a close when there is none', async () => {
    const run = new RunDouble();
    run.append('chunk', 2);
    run.isLive = false;
    expect(await run.read()).toEqual([1, 2]);
  });
});
