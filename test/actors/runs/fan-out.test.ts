// One run and many readers over real connections, as a seed has it: they join at any moment, read at their own pace, stop, leave
// and come back after what they have read. Each sees every event once, in order. `npm run bench -- fan-out` does the large one.

import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { numberingFlaws, textOf } from '../../support/run-events.ts';
import type { ReadEvent } from '../../support/sse-reader.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ requestsKeptMax: 0 });
afterAll(() => app.close());

const READERS = 60;
const WORDS = Array.from({ length: 200 }, (_, i) => `word${i} `);

/** What a reader does: joins after so many events, or when all is over, and leaves after each of these, to come back. */
const readerPlan = fc.record({
  joinsAt: fc.nat(WORDS.length),
  leavesAfter: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 3 }),
});

async function readAsPlanned(runId: string, leavesAfter: readonly number[]): Promise<readonly ReadEvent[]> {
  const seen: ReadEvent[] = [];
  for (const count of [...leavesAfter, Number.POSITIVE_INFINITY]) {
    if (seen.at(-1)?.event === 'close') break;
    const last = seen.at(-1)?.id;
    const reader = await app.attach(runId, last === undefined ? {} : { lastEventId: last });
    const from = seen.length;
    for await (const event of reader) {
      seen.push(event);
      if (seen.length - from >= count) break;
    }
    await reader.leave();
  }
  return seen;
}

test('every reader of a run sees all of it once, in order, however it joins, leaves and comes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(readerPlan, { minLength: READERS, maxLength: READERS }), async (plans) => {
      app.double.answer({ text: WORDS, chunkDelayMs: 2 });
      const { runId, reader } = await app.start('Count');
      const readings: Promise<readonly ReadEvent[]>[] = [];
      const waiting = plans.toSorted((a, b) => b.joinsAt - a.joinsAt);
      const join = (upTo: number): void => {
        for (let next = waiting.at(-1); next !== undefined && next.joinsAt <= upTo; next = waiting.at(-1)) {
          waiting.pop();
          readings.push(readAsPlanned(runId, next.leavesAfter));
        }
      };
      for await (const { id = 0 } of reader) join(id);
      join(WORDS.length);
      const [, ...events] = reader.events;
      expect(textOf(events)).toBe(WORDS.join(''));
      for (const seen of await Promise.all(readings)) {
        expect(numberingFlaws(seen)).toEqual([]);
        expect(seen).toEqual(events);
      }
    }),
    // A run takes a while: the seed that failed says enough.
    { numRuns: 3, endOnFailure: true },
  );
}, 60_000);
