// Report: a window of days as the route shows it. Pure.

import { addTo, type Counters, NOTHING_COUNTED, type Sum, sumOf } from './counters.ts';
import { type DayUsage, type Dimension, dateOf } from './day.ts';
import { USAGE_DAYS_DEFAULT, USAGE_DAYS_MAX, type UsageReport } from './protocol.ts';

export interface Window {
  readonly first: number;
  readonly last: number;
}

/** So many days, today included. */
export function windowOf(days: number = USAGE_DAYS_DEFAULT, today: number): Window {
  const within = Math.min(Math.max(days, 1), USAGE_DAYS_MAX);
  return { first: today - within + 1, last: today };
}

/** `usageOn` is asked for each day of the window. */
export function reportOf({ first, last }: Window, usageOn: (day: number) => DayUsage | null): UsageReport {
  const used: DayUsage[] = [];
  const daily: UsageReport['daily'] = [];
  for (let day = first; day <= last; day += 1) {
    const usage = usageOn(day);
    if (usage !== null) used.push(usage);
    const { turns, tokens_total, cost_total } = viewOf(usage?.total ?? NOTHING_COUNTED);
    daily.push({ date: dateOf(day), turns, tokens_total, cost_total });
  }
  const total = used.reduce((sum, { total }) => sumOf(sum, total), NOTHING_COUNTED);
  const avg_latency_ms = total.timedTurns === 0 ? 0 : total.latencyMs / total.timedTurns;
  return {
    totals: { ...viewOf(total), cost_currency: 'USD', avg_latency_ms },
    by_model: sharesBy('model', used).map(([model, counters]) => ({ model, ...counters })),
    by_agent: sharesBy('agent', used).map(([agent_id, counters]) => ({ agent_id, ...counters })),
    by_source: sharesBy('source', used).map(([source, counters]) => ({ source, ...counters })),
    daily,
    days: daily.length,
  };
}

type CountersView = ReturnType<typeof viewOf>;

/** The ones with the most tokens first. */
function sharesBy(dimension: Dimension, days: readonly DayUsage[]): readonly [string, CountersView][] {
  const sums = new Map<string, Sum>();
  for (const { shares } of days) {
    for (const [name, counters] of shares[dimension]) {
      const sum = sums.get(name);
      if (sum === undefined) sums.set(name, { ...counters });
      else addTo(sum, counters);
    }
  }
  return Array.from(sums, ([name, counters]): [string, CountersView] => [name, viewOf(counters)]).sort(
    ([a, { tokens_total: tokensOfA }], [b, { tokens_total: tokensOfB }]) =>
      tokensOfB - tokensOfA || (a < b ? -1 : 1),
  );
}

function viewOf({ turns, inputTokens, outputTokens, costUsd, unpricedTurns }: Counters) {
  return {
    turns,
    tokens_input: inputTokens,
    tokens_output: outputTokens,
    tokens_total: inputTokens + outputTokens,
    // Without the last digits of a sum of fractions, which mean nothing.
    cost_total: Number(costUsd.toPrecision(12)),
    turns_unpriced: unpricedTurns,
  };
}
