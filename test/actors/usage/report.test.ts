// What a window of days adds up to.

import { describe, expect, test } from 'vitest';
import { type Counters, countersOf, NOTHING_COUNTED, sumOf } from '../../../src/actors/usage/counters.ts';
import { type DayUsage, dateOf, dayOf } from '../../../src/actors/usage/day.ts';
import type { TurnUsage } from '../../../src/actors/usage/protocol.ts';
import { reportOf, windowOf } from '../../../src/actors/usage/report.ts';

const TODAY = dayOf(Date.UTC(2026, 2, 1));
const turn = (used: Partial<TurnUsage> = {}): TurnUsage => ({
  model: 'small',
  agent_id: null,
  inputTokens: 10,
  outputTokens: 5,
  costUsd: 0.1,
  latencyMs: 100,
  ...used,
});

/** A day on which these turns ended. */
function dayWith(...turns: readonly TurnUsage[]): DayUsage {
  const summed = (nameOf: (turn: TurnUsage) => string): ReadonlyMap<string, Counters> => {
    const sums = new Map<string, Counters>();
    for (const one of turns) {
      sums.set(nameOf(one), sumOf(sums.get(nameOf(one)) ?? NOTHING_COUNTED, countersOf(one)));
    }
    return sums;
  };
  return {
    total: turns.map(countersOf).reduce(sumOf, NOTHING_COUNTED),
    shares: {
      model: summed(({ model }) => model),
      agent: summed(({ agent_id }) => agent_id ?? '_default'),
      source: summed(() => 'chat'),
    },
  };
}
const on =
  (days: Readonly<Record<number, DayUsage>>) =>
  (day: number): DayUsage | null =>
    days[day] ?? null;

describe('a window', () => {
  test.each([
    [undefined, 14],
    [0, 1],
    [-7, 1],
    [1, 1],
    [90, 90],
    [91, 90],
    [1e9, 90],
  ])('of %s days has %i, today included', (days, count) => {
    expect(windowOf(days, TODAY)).toEqual({ first: TODAY - count + 1, last: TODAY });
  });

  test('shows each of its days, the oldest first, and zeros where nothing was', () => {
    const { daily, days } = reportOf(windowOf(3, TODAY), on({ [TODAY - 1]: dayWith(turn(), turn()) }));
    expect(days).toBe(3);
    expect(daily).toEqual([
      { date: '2026-02-27', turns: 0, tokens_total: 0, cost_total: 0 },
      { date: '2026-02-28', turns: 2, tokens_total: 30, cost_total: 0.2 },
      { date: '2026-03-01', turns: 0, tokens_total: 0, cost_total: 0 },
    ]);
  });
});

test('a day begins at midnight in UTC, before 1970 too', () => {
  const midnightMs = Date.UTC(2028, 1, 29);
  expect([dateOf(dayOf(midnightMs - 1)), dateOf(dayOf(midnightMs))]).toEqual(['2028-02-28', '2028-02-29']);
  expect(dateOf(dayOf(-1))).toBe('1969-12-31');
});

describe('the sums', () => {
  test('go over all days, by model, agent and source, the ones with the most tokens first', () => {
    const report = reportOf(
      windowOf(2, TODAY),
      on({
        [TODAY - 1]: dayWith(turn(), turn({ model: 'large', agent_id: 'scout', inputTokens: 1_000 })),
        [TODAY]: dayWith(turn({ outputTokens: 7, latencyMs: 400 })),
      }),
    );
    expect(report.totals).toEqual({
      turns: 3,
      tokens_input: 1_020,
      tokens_output: 17,
      tokens_total: 1_037,
      cost_total: 0.3,
      turns_unpriced: 0,
      cost_currency: 'USD',
      avg_latency_ms: 200,
    });
    const small = {
      turns: 2,
      tokens_input: 20,
      tokens_output: 12,
      tokens_total: 32,
      cost_total: 0.2,
      turns_unpriced: 0,
    };
    const large = { ...small, turns: 1, tokens_input: 1_000, tokens_output: 5, tokens_total: 1_005 };
    expect(report.by_model).toEqual([
      { model: 'large', ...large, cost_total: 0.1 },
      { model: 'small', ...small },
    ]);
    expect(report.by_agent.map(({ agent_id, turns }) => [agent_id, turns])).toEqual([
      ['scout', 1],
      ['_default', 2],
    ]);
    expect(report.by_source.map(({ source, turns }) => [source, turns])).toEqual([['chat', 3]]);
  });

  test('leave out what nobody knows, and say so', () => {
    const { totals } = reportOf(
      windowOf(1, TODAY),
      on({ [TODAY]: dayWith(turn(), turn({ costUsd: null }), turn({ costUsd: 0, latencyMs: null })) }),
    );
    expect(totals).toMatchObject({ turns: 3, cost_total: 0.1, turns_unpriced: 1, avg_latency_ms: 100 });
  });

  test('are zeros where there was nothing', () => {
    expect(reportOf(windowOf(1, TODAY), () => null)).toEqual({
      totals: {
        turns: 0,
        tokens_input: 0,
        tokens_output: 0,
        tokens_total: 0,
        cost_total: 0,
        turns_unpriced: 0,
        cost_currency: 'USD',
        avg_latency_ms: 0,
      },
      by_model: [],
      by_agent: [],
      by_source: [],
      daily: [{ date: '2026-03-01', turns: 0, tokens_total: 0, cost_total: 0 }],
      days: 1,
    });
  });
});
