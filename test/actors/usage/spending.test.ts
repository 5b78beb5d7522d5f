// Whether a budget allows one more call, whoever else asks at the same time.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type NextCall, Spending } from '../../../src/actors/usage/spending.ts';

const NONE = { dailyUsd: null, perRunUsd: null };
const call = (turn_id: string, spentUsd: number, expectedUsd: number | null = 0.1): NextCall => ({
  turn_id,
  source: 'chat',
  spentUsd,
  expectedUsd,
});

describe('the budget of a turn', () => {
  const budgets = { ...NONE, perRunUsd: 1 };

  test.each<[string, number, number | null, RegExp | null]>([
    ['allows what fits', 0.5, 0.25, null],
    ['allows what just fits', 0.5, 0.5, null],
    ['has no room for more', 0.5, 0.75, /one turn, \$1\.00, has no room .*\$0\.5000 .* may cost \$0\.7500/],
    ['is used up', 1, 0, /used up/],
    ['is used up for models without a price too', 1.2, null, /used up/],
    ['does not hold up models without a price before', 0.9, null, null],
  ])('%s', (_, spentUsd, expectedUsd, refusal) => {
    const said = new Spending().admit(budgets, 100, call('a', spentUsd, expectedUsd));
    if (refusal === null) expect(said).toBe(null);
    else expect(said).toMatch(refusal);
  });
});

describe('the budget of a day', () => {
  const budgets = { ...NONE, dailyUsd: 1 };

  test('holds what is entered, and what turns under way have spent and reserved', () => {
    const spending = new Spending();
    expect(spending.admit(budgets, 0.5, call('a', 0.125, 0.125))).toBe(null);
    expect(spending.admit(budgets, 0.5, call('b', 0.125, 0.125))).toBe(null);
    expect(spending.admit(budgets, 0.5, call('c', 0, 0.001))).toMatch(/used up/);
  });

  test('gets back what a turn did not need', () => {
    const spending = new Spending();
    spending.admit(budgets, 0, call('a', 0, 0.9));
    expect(spending.admit(budgets, 0, call('b', 0, 0.5))).toMatch(/no room/);
    expect(spending.admit(budgets, 0, call('a', 0.25, 0.25))).toBe(null);
    expect(spending.admit(budgets, 0, call('b', 0, 0.5))).toBe(null);
    spending.close(call('a', 0));
    expect(spending.admit(budgets, 0.25, call('c', 0, 0.25))).toBe(null);
  });

  test('of zero allows nothing at all', () => {
    expect(new Spending().admit({ ...NONE, dailyUsd: 0 }, 0, call('a', 0, null))).toMatch(/used up/);
  });

  test('counts a turn of the same id from another source by itself', () => {
    const spending = new Spending();
    spending.admit(budgets, 0, call('a', 0, 0.5));
    spending.admit(budgets, 0, { ...call('a', 0, 0.5), source: 'image' });
    expect(spending.admit(budgets, 0, call('b', 0))).toMatch(/used up/);
  });

  test('is never passed by calls that cost what was expected, in whatever order they come and end', () => {
    const usd = fc.double({ min: 0, max: 0.3, noNaN: true });
    const step = fc.record({ turn: fc.nat(20), expectedUsd: usd, ends: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const spending = new Spending();
        const spent = new Map<string, number>();
        let entered = 0;
        for (const { turn, expectedUsd, ends } of steps) {
          const id = String(turn);
          const before = spent.get(id) ?? 0;
          const refusal = spending.admit(budgets, entered, call(id, before, expectedUsd));
          spent.set(id, before + (refusal === null ? expectedUsd : 0));
          const all = [...spent.values()].reduce((sum, one) => sum + one, entered);
          expect(all).toBeLessThanOrEqual(1 + 1e-9);
          if (!ends) continue;
          entered += spent.get(id) ?? 0;
          spent.delete(id);
          spending.close(call(id, 0));
        }
      }),
    );
  });
});
