// Random trees, random deeds, random faults: 300 seeds a run, each judged by the ledger. More with `npm run sim`.

import { describe, expect, test } from 'vitest';
import { runSeed } from './scenario.ts';

const SEEDS = 300;
const PART = 50;
const PARTS = Array.from({ length: SEEDS / PART }, (_, part) => 1 + part * PART);

describe('a simulated system keeps its promises, whatever happens to it', () => {
  test.each(PARTS)('from seed %i', async (from) => {
    for (let seed = from; seed < from + PART; seed += 1) {
      const { failure } = await runSeed(seed);
      expect(failure?.message, `replay it with: npm run sim -- --seed ${seed}`).toBeUndefined();
    }
  });
});

test('the same seed gives the same trace, byte for byte, and another seed another', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const first = await runSeed(seed);
    const again = await runSeed(seed);
    expect(first.trace.length).toBeGreaterThan(100);
    expect(again.trace.join('\n')).toBe(first.trace.join('\n'));
    expect((await runSeed(seed + 1_000)).trace.join('\n')).not.toBe(first.trace.join('\n'));
  }
});
