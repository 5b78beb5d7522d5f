import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pageOf } from '../../../src/actors/tool-outputs/page.ts';
import { storageKey } from '../../../src/actors/tool-outputs/storage-key.ts';

test('pages that follow each other add up to the text and halve no character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.integer({ min: 1, max: 7 }),
      (text, limit) => {
        let whole = '';
        for (let offset = 0; offset < text.length; offset += limit) {
          const page = pageOf(text, offset, limit);
          expect(page.isWellFormed()).toBe(true);
          whole += page;
        }
        expect(whole).toBe(text);
      },
    ),
  );
});

test('a page beyond the end is empty, and one without a limit goes to the end', () => {
  expect(pageOf('abc', 9, 5)).toBe('');
  expect(pageOf('abc', 1, null)).toBe('bc');
});

test('a key names tool, time of day in UTC and content', () => {
  const atMs = Date.UTC(2026, 6, 14, 4, 19, 22);
  expect(storageKey('tool', 'web_extract', 'abc', atMs)).toBe('web_extract_041922_ba7816bf');
  expect(storageKey('message', 'ignored', 'abc', atMs)).toBe('msg_041922_ba7816bf');
});

test('a key is safe in a path, whatever the tool is called', () => {
  const key = storageKey('tool', `../a b/%2e?#${'x'.repeat(300)}`, 'abc', 0);
  expect(key).toMatch(/^[A-Za-z0-9_.-]{1,90}$/);
});
