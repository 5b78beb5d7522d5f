import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitThinking } from '../../../src/actors/runs/think-tags.ts';

const TAGS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['[think]', '[/think]'],
  ['[thinking]', '[/thinking]'],
  ['<internal_monologue>', '</internal_monologue>'],
] as const;

describe('thoughts are split from the answer', () => {
  test.each(TAGS)('between %s and %s, in any case', (open, closing) => {
    expect(splitThinking(`${open}Hmm.${closing}Yes.`)).toEqual({
      answer: 'Yes.',
      thinking: 'Hmm.',
      closing: '',
    });
    const shouted = `Well, ${open.toUpperCase()}Hmm.${closing.toUpperCase()}yes.`;
    expect(splitThinking(shouted)).toEqual({ answer: 'Well, yes.', thinking: 'Hmm.', closing: '' });
  });

  test.each(TAGS)('to the end, when %s is not closed; %s would close it', (open, closing) => {
    expect(splitThinking(`Yes. ${open}Hm`)).toEqual({ answer: 'Yes.', thinking: 'Hm', closing });
  });

  test('several are joined by a blank line, empty ones are left out', () => {
    expect(splitThinking('<think>One</think>a<think> </think>b[think]Two[/think]c')).toEqual({
      answer: 'abc',
      thinking: 'One\n\nTwo',
      closing: '',
    });
  });

  test('only by their own closing tag', () => {
    expect(splitThinking('<think>One[/think]</thinking>Two</think>Three')).toEqual({
      answer: 'Three',
      thinking: 'One[/think]</thinking>Two',
      closing: '',
    });
  });

  test('a closing tag alone is text', () => {
    expect(splitThinking('Two < three</think>').answer).toBe('Two < three</think>');
  });
});

test('whatever the pieces are, each comes out on its side, once', () => {
  // Without what tags are made of, and without the spaces that are trimmed.
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'é', '😀', 'İ', '.'),
    minLength: 1,
    maxLength: 12,
  });
  const piece = fc.record({ said: text, thought: text, tag: fc.constantFrom(...TAGS) });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.option(text), (pieces, last) => {
      const written = pieces.map(
        ({ said, thought, tag: [open, closing] }) => said + open + thought + closing,
      );
      const unclosed = last === null ? '' : `<think>${last}`;
      const { answer, thinking, closing } = splitThinking(written.join('') + unclosed);
      expect(answer).toBe(pieces.map(({ said }) => said).join(''));
      const thoughts = [...pieces.map(({ thought }) => thought), ...(last === null ? [] : [last])];
      expect(thinking).toBe(thoughts.join('\n\n'));
      expect(closing).toBe(last === null ? '' : '</think>');
    }),
  );
});

test('a long text of half tags is split in no time', () => {
  const text = '<think'.repeat(200_000);
  expect(splitThinking(text).answer).toHaveLength(text.length);
});
