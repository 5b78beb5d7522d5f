import { expect, test } from 'vitest';
import type { Model } from '../../../src/actors/embeddings/model.ts';
import type { Priority } from '../../../src/actors/embeddings/protocol.ts';
import { Slices } from '../../../src/actors/embeddings/slices.ts';
import type { Clock } from '../../../src/std/clock.ts';
import { afterTurn } from '../../../src/std/event-loop.ts';

const MS_PER_TEXT = 4;
const { signal } = new AbortController();

/** A model that takes its time by a clock of its own, and tells what it was given. */
function openModel({ failsOn = '' } = {}) {
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    startTimer: () => ({ cancel: () => undefined }),
  };
  const runs: (readonly string[])[] = [];
  const model: Model = {
    facts: { model: 'counted', dimensions: 1, digest: '' },
    isComputedHere: true,
    charactersRead: 1_000,
    async run(texts) {
      runs.push(texts);
      nowMs += MS_PER_TEXT * texts.length;
      if (texts.includes(failsOn)) throw new Error('the graph failed');
      return {
        vectors: Float32Array.from(texts, (text) => text.length),
        tokens: texts.map((text) => text.length),
      };
    },
    close: async () => undefined,
  };
  const slices = new Slices(clock, afterTurn);
  const run = (texts: readonly string[], priority: Priority = 'bulk', until = signal) =>
    slices.run(model, { texts, kind: 'passage', priority, signal: until });
  return { run, runs };
}

test('a slice is as much as takes about twelve milliseconds, once it is known how long a text takes', async () => {
  const { run, runs } = openModel();
  await run(Array.from({ length: 10 }, (_, n) => `text ${n}`));
  expect(runs.map((texts) => texts.length)).toEqual([1, 3, 3, 3]);
});

test('texts of about one length go together, and come back in their order', async () => {
  const { run, runs } = openModel();
  const { vectors, tokens } = await run(['a', 'bbbbbbb', 'cc', 'ddddddddd']);
  expect(runs.flat()).toEqual(['ddddddddd', 'bbbbbbb', 'cc', 'a']);
  expect([[...vectors], tokens]).toEqual([
    [1, 7, 2, 9],
    [1, 7, 2, 9],
  ]);
});

test('what is interactive waits for the slice that is begun, and no other', async () => {
  const { run, runs } = openModel();
  const bulk = run(Array.from({ length: 9 }, (_, n) => `bulk ${n}`));
  const isBegun = () => runs.length >= 2;
  while (!isBegun()) await new Promise<void>(afterTurn);
  const begun = runs.length;
  await run(['query'], 'interactive');
  expect(runs.findIndex((texts) => texts.includes('query'))).toBeLessThanOrEqual(begun + 1);
  await bulk;
  expect(runs.flat()).toHaveLength(10);
});

test('work that nobody waits for any more ends with its slice, and one that fails takes no other along', async () => {
  const leaving = new AbortController();
  const { run, runs } = openModel({ failsOn: 'six' });
  const left = run(['one', 'two', 'three', 'four', 'five'], 'bulk', leaving.signal).catch(
    (error) => error.name,
  );
  const failing = run(['six', 'seven']).catch((error) => error.message);
  const last = run(['eight']);
  while (runs.length === 0) await new Promise<void>(afterTurn);
  leaving.abort();
  expect(await left).toBe('AbortError');
  expect(runs.flat().length).toBeLessThan(5);
  expect([await failing, (await last).tokens]).toEqual(['the graph failed', [5]]);
});
