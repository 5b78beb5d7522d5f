import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Key, KeyPart } from '../../src/storage/contract.ts';
import { decodeKey, encodeKey, encodePath, endOfKey, joinKey, SEPARATOR } from '../../src/storage/key.ts';

const part: fc.Arbitrary<KeyPart> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }).filter((text) => text.isWellFormed()),
  fc.string({ unit: fc.constantFrom('\0', '\u0001', 'a', 'ÿ', '😀'), maxLength: 5 }),
  fc.double({ noNaN: true }).map((number) => (number === 0 ? 0 : number)),
  fc.integer(),
  fc.boolean(),
);
const parts = fc.array(part, { minLength: 1, maxLength: 4 });

const asParts = (key: Key): readonly KeyPart[] => (typeof key === 'object' ? key : [key]);

describe('the byte form of a key', () => {
  test('reads back as the same parts', () => {
    fc.assert(
      fc.property(parts, (key) => {
        expect(asParts(decodeKey(encodeKey(key)))).toEqual(key);
      }),
    );
  });

  test('sorts as its parts do', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(Math.sign(Buffer.compare(encodeKey(a), encodeKey(b)))).toBe(compareParts(a, b));
      }),
      { numRuns: 500 },
    );
  });

  test('is found again in front of a second key', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const entry = joinKey(encodeKey(a), SEPARATOR, encodeKey(b));
        expect(asParts(decodeKey(entry))).toEqual(a);
        expect(asParts(decodeKey(entry, endOfKey(entry, 0) + 1))).toEqual(b);
      }),
    );
  });

  test('is the same in front of a second key below an area, whether joined or written at once', () => {
    fc.assert(
      fc.property(parts, part, part, (key, a, b) => {
        const area = joinKey(encodeKey(key), SEPARATOR);
        expect(encodePath(area, a, b)).toEqual(joinKey(area, encodeKey(a), SEPARATOR, encodeKey(b)));
      }),
    );
  });

  test('is the same for one part, in an array or not', () => {
    expect(encodeKey(['a'])).toEqual(encodeKey('a'));
    expect(encodeKey(-0)).toEqual(encodeKey(0));
  });
});

function compareParts(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (const [index, partOfA] of a.entries()) {
    const partOfB = b[index];
    if (partOfB === undefined) return 1;
    const order = compare(partOfA, partOfB);
    if (order !== 0) return order;
  }
  return a.length === b.length ? 0 : -1;
}

function compare(a: KeyPart, b: KeyPart): number {
  const kinds = ['string', 'number', 'boolean'];
  if (typeof a !== typeof b) return Math.sign(kinds.indexOf(typeof a) - kinds.indexOf(typeof b));
  if (typeof a === 'string') return Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b as string)));
  return a < b ? -1 : a > b ? 1 : 0;
}
