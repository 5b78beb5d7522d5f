import { expect, test } from 'vitest';
import { RunWords } from '../../../src/actors/mcp-outward/run-progress.ts';

const frame = (event: string, data: object) => ({ event, data: JSON.stringify(data) });

test('the words of a run follow what it does', () => {
  const words = new RunWords('r1');
  expect(words.last).toBe('Run r1 was accepted');
  expect(words.take([frame('start', { model: 'm' })])).toBe(false);
  expect(words.take([frame('status', { label: 'Thinking…' })])).toBe(true);
  expect(words.last).toBe('Thinking…');
  words.take([frame('tool_call', { tool: 'search', arguments: {} })]);
  expect(words.last).toBe('Calls search');
});

test('an answer that is being written is news now and then, not with every piece', () => {
  const words = new RunWords('r1');
  const news = Array.from({ length: 120 }, () => words.take([frame('chunk', { content: 'ten chars.' })]));
  expect(news.filter(Boolean).length).toBe(3);
  expect(words.last).toBe('Writes its answer: 1010 characters so far');
});
