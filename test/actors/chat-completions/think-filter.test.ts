import { describe, expect, test } from 'vitest';
import { ThinkFilter } from '../../../src/actors/chat-completions/think-filter.ts';

function filtered(pieces: readonly string[]): { thought: string; text: string } {
  const filter = new ThinkFilter();
  const parts = [...pieces.map((piece) => filter.feed(piece)), filter.end()];
  return {
    thought: parts.map(({ thought }) => thought).join(''),
    text: parts.map(({ text }) => text).join(''),
  };
}

describe('a text that opens with a thought', () => {
  const whole = '<think>One < two,\nso </th is no tag.</think>\n\nThe <think> answer.</think>';

  test.each([1, 2, 3, 5, 8, 13, 100])('is parted alike in pieces of %i', (length) => {
    const pieces = whole.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
    expect(filtered(pieces)).toEqual({
      thought: 'One < two,\nso </th is no tag.',
      text: 'The <think> answer.</think>',
    });
  });

  test('is all thought when it never ends', () => {
    expect(filtered(['<think>', 'on and on', '</thi'])).toEqual({ thought: 'on and on</thi', text: '' });
  });
});

test.each([['<thin'], ['  '], ['<'], ['A <think>b</think> c'], ['']])('"%s" is no thought', (text) => {
  expect(filtered([text])).toEqual({ thought: '', text });
  expect(filtered([...text])).toEqual({ thought: '', text });
});
