import { expect, test } from 'vitest';
import { readDescription } from '../../../src/actors/ingestion/description.ts';

test('a description is read out of whatever stands around it', () => {
  const said =
    '<think>{"tags": no}</think>Here it is:\n```json\n{"tags": ["Sea", " sea ", "Sea", 7], "summary": "About\\n whales."}\n```';
  expect(readDescription(said)).toEqual({ tags: ['Sea', 'sea'], summary: 'About whales.' });
});

test('a description is bounded', () => {
  const tags = Array.from({ length: 20 }, (_, i) => `${i} ${'x'.repeat(100)}`);
  const read = readDescription(JSON.stringify({ tags, summary: 'y'.repeat(10_000) }));
  expect(read?.tags.length).toBe(6);
  expect(Math.max(...(read?.tags ?? []).map((tag) => tag.length))).toBeLessThanOrEqual(40);
  expect(read?.summary.length).toBeLessThanOrEqual(600);
});

test('what is no description is none', () => {
  for (const said of [
    '',
    'Sure!',
    '{}',
    '{"summary": 3}',
    '{"tags": ["a"], "summary": " "}',
    '{"summary": "cut',
  ]) {
    expect(readDescription(said)).toBeNull();
  }
});
