// Rendezvous hashing: keys are spread evenly, and few of them move when the members change.

import { expect, test } from 'vitest';
import { hashOf, memberFor } from '../../../src/supervisor/routing/rendezvous.ts';

const KEYS = Array.from({ length: 20_000 }, (_, i) => `key ${i}`);
const members = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: i, hash: hashOf(String(i)) }));
const homesAmong = (count: number) => {
  const all = members(count);
  return KEYS.map((key) => memberFor(key, all)?.id ?? -1);
};

test('every member gets its share of the keys', () => {
  for (const count of [2, 3, 8, 20]) {
    const shares = new Map<number, number>();
    for (const home of homesAmong(count)) shares.set(home, (shares.get(home) ?? 0) + 1);
    expect(shares.size).toBe(count);
    for (const share of shares.values()) {
      expect(share / (KEYS.length / count)).toBeGreaterThan(0.8);
      expect(share / (KEYS.length / count)).toBeLessThan(1.2);
    }
  }
});

test('a member that comes takes only its own keys, about one of n; one that goes gives up only those', () => {
  const before = homesAmong(8);
  const after = homesAmong(9);
  const moved = KEYS.filter((_, i) => before[i] !== after[i]);
  for (const [i] of KEYS.entries()) if (before[i] !== after[i]) expect(after[i]).toBe(8);
  expect(moved.length / KEYS.length).toBeGreaterThan(0.8 / 9);
  expect(moved.length / KEYS.length).toBeLessThan(1.2 / 9);
});

test('nobody has the keys of nobody', () => {
  expect(memberFor('key', [])).toBeUndefined();
});
