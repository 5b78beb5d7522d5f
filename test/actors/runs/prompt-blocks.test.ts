import { expect, test } from 'vitest';
import { fitBlocks, type PromptBlock } from '../../../src/actors/runs/prompt-blocks.ts';

const lines = (word: string): string => Array.from({ length: 100 }, (_, i) => `${word} ${i}`).join('\n');
const block = (
  content: string,
  priority: number,
  underPressure: PromptBlock['underPressure'] = 'loses_end',
): PromptBlock => ({ content, priority, underPressure });

test('blocks that fit are said in the order in which they are given', () => {
  expect(fitBlocks([block('a', 1), block('b', 9), block('c', 5)], 1_000)).toEqual(['a', 'b', 'c']);
});

test('the highest priority gets its room first; the others lose their end, or are left out', () => {
  const [first, second, ...others] = fitBlocks(
    [block(lines('low'), 1), block(lines('high'), 9), block('x'.repeat(999), 0)],
    350,
  );
  expect(second).toBe(lines('high'));
  expect(first).toMatch(/^low 0\n[\s\S]*\n\[…\]$/);
  expect(others).toEqual([]);
});

test('where the newest comes last it is kept, with the head', () => {
  const [said] = fitBlocks([block(`Notes:\n${lines('note')}`, 1, 'keeps_newest_lines')], 100);
  expect(said).toMatch(/^Notes:\n\[…\]\nnote \d+\n[\s\S]*note 99$/);
});

test('what is mandatory is said whatever it takes', () => {
  expect(fitBlocks([block(lines('must'), 1, 'mandatory'), block('other', 9)], 10)).toEqual([
    lines('must'),
    'other',
  ]);
});
