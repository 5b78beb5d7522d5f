import fc from 'fast-check';
import { expect, test } from 'vitest';
import { globMatches } from '../../../src/actors/tool-outputs/glob.ts';

test.each([
  ['*', '', true],
  ['*', 'web_search', true],
  ['web_*', 'web_search', true],
  ['web_*', 'read_thread', false],
  ['*search', 'web_search', true],
  ['w?b_*', 'web_search', true],
  ['w*b*s*h', 'web_search', true],
  ['web_search', 'web_search', true],
  ['web_search', 'web_search2', false],
  ['', '', true],
  ['', 'a', false],
  ['?', '', false],
  ['a.c', 'abc', false],
  ['(a+)+$', 'aaaa', false],
  ['[ab]', 'a', false],
])('%j on %j: %j', (pattern, text, matches) => {
  expect(globMatches(pattern, text)).toBe(matches);
});

test('every text matches itself, and with any run of it replaced by a star', () => {
  const plain = fc.stringMatching(/^[a-z._-]{0,20}$/);
  fc.assert(
    fc.property(plain, plain, plain, (head, middle, tail) => {
      expect(globMatches(head + middle + tail, head + middle + tail)).toBe(true);
      expect(globMatches(`${head}*${tail}`, head + middle + tail)).toBe(true);
    }),
  );
});

// With all the ways in which the letters could be shared out it would not end.
test('a pattern made to backtrack ends', () => {
  expect(globMatches(`${'*a'.repeat(100)}b`, 'a'.repeat(10_000))).toBe(false);
});
