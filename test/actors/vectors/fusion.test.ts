import { expect, test } from 'vitest';
import { fuse } from '../../../src/actors/vectors/fusion.ts';

const ranking = (keys: string, weight = 1) => ({ keys: [...keys], weight });
const order = (...rankings: Parameters<typeof fuse>[0]): string =>
  fuse(rankings, 60)
    .map(({ key }) => key)
    .join('');

test('a key is worth the sum of what its ranks are worth, and tells them', () => {
  const [first, ...rest] = fuse([ranking('ab'), ranking('bc')], 60);
  expect(first).toEqual({ key: 'b', score: 1 / 62 + 1 / 61, ranks: [2, 1] });
  expect(rest).toEqual([
    { key: 'a', score: 1 / 61, ranks: [1, null] },
    { key: 'c', score: 1 / 62, ranks: [null, 2] },
  ]);
});

test('of equal sums the better best rank comes first, then the ranking that came first', () => {
  expect(order(ranking('xay'), ranking('yax'))).toBe('xya');
  expect(order(ranking('a'), ranking('b'))).toBe('ab');
});

test('a ranking counts as much as its weight says', () => {
  expect(order(ranking('ab', 0.3), ranking('ba', 0.7))).toBe('ba');
  expect(order(ranking('abc', 1), ranking('c', 0))).toBe('abc');
});

test('a larger constant makes ranks more alike', () => {
  const share = (constant: number): number => {
    const [first, second] = fuse([ranking('ab')], constant);
    return (second?.score ?? 0) / (first?.score ?? 0);
  };
  expect(share(1)).toBeCloseTo(2 / 3, 10);
  expect(share(1_000)).toBeCloseTo(1_001 / 1_002, 10);
});

test('nothing fused is nothing', () => {
  expect(fuse([], 60)).toEqual([]);
  expect(fuse([ranking('')], 60)).toEqual([]);
});
