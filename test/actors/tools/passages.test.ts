import fc from 'fast-check';
import { expect, test } from 'vitest';
import { passagesOf, rankPassages } from '../../../src/actors/tools/passages.ts';

const filler = 'Nothing of note happened on this day, and the ledger stays as it was. '.repeat(40);

test('passages add up to the text, are bounded, and halve no character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 3000, size: 'max' }), (text) => {
      const passages = [...passagesOf(text)];
      expect(passages.map((passage) => passage.text).join('')).toBe(text);
      for (const { text: passage, offset } of passages) {
        expect(passage.length).toBeLessThanOrEqual(800);
        expect(passage.isWellFormed()).toBe(true);
        expect(text.startsWith(passage, offset)).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

test('a passage ends where a paragraph does', () => {
  const [first] = passagesOf(`${'a'.repeat(500)}\n\n${'b'.repeat(500)}`);
  expect(first?.text).toBe(`${'a'.repeat(500)}\n\n`);
});

test('the passage with the rare word of the query comes first', () => {
  const text = `${filler}\n\nThe zeppelin landed on this day.\n\n${filler}`;
  const [best, ...others] = rankPassages(text, 'day zeppelins zeppelin', 3);
  expect(best?.text).toContain('zeppelin');
  expect(others.every((other) => other.score <= (best?.score ?? 0))).toBe(true);
});

test('a word is found by its beginning, not in the middle of another', () => {
  expect(rankPassages('two cats here', 'cat', 5)).toHaveLength(1);
  expect(rankPassages('a concatenation', 'cat', 5)).toHaveLength(0);
});

test('scripts without spaces are found anywhere', () => {
  expect(rankPassages('今日は東京で会議があります', '東京', 5)).toHaveLength(1);
});

test('a query of signs only finds nothing', () => {
  expect(rankPassages(filler, '.*+?^$()[]', 5)).toEqual([]);
  expect(rankPassages('', 'word', 5)).toEqual([]);
});

test('a text of four million characters is ranked as any other', () => {
  const giant = 'ab '.repeat(1_400_000);
  expect(rankPassages(giant, 'a ab abc b', 5)).toHaveLength(5);
});
