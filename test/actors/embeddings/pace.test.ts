import { expect, test } from 'vitest';
import type { EngineRecord } from '../../../src/actors/embeddings/engine-lock.ts';
import { Pace } from '../../../src/actors/embeddings/pace.ts';
import { BATCH_LENGTH_MAX, type Work } from '../../../src/actors/embeddings/work-queue.ts';

const engine = { id: 'slow' } as EngineRecord;
const works = (...lengths: number[]) => lengths.map((length) => ({ text: 'x'.repeat(length) }) as Work);

test('a batch of a slow model is about a tenth of a second, of a quick or unknown one as large as any', () => {
  const pace = new Pace();
  expect(pace.batchLength(engine)).toBe(BATCH_LENGTH_MAX);
  pace.learn(engine, works(1_000, 3_000), 400);
  expect(pace.batchLength(engine)).toBeCloseTo(1_000, 5);
  expect(pace.batchLength({ id: 'another' } as EngineRecord)).toBe(BATCH_LENGTH_MAX);
  // Worked out elsewhere.
  const remote = { id: 'remote' } as EngineRecord;
  pace.learn(remote, works(1_000), 0);
  expect(pace.batchLength(remote)).toBe(BATCH_LENGTH_MAX);
});

test('what took long once is forgotten little by little', () => {
  const pace = new Pace();
  pace.learn(engine, works(1_000), 1_000);
  for (let n = 0; n < 50; n += 1) pace.learn(engine, works(1_000), 100);
  expect(pace.batchLength(engine)).toBeCloseTo(1_000, 0);
});
