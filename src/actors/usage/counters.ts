// Counters: sums over turns. Pure.

import type { TurnUsage } from './protocol.ts';

export interface Counters {
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** US dollars, of the turns whose cost is known. */
  readonly costUsd: number;
  readonly unpricedTurns: number;
  /** Of the turns whose latency is known. */
  readonly latencyMs: number;
  readonly timedTurns: number;
}

/** Counters that somebody adds to. */
export type Sum = { -readonly [Name in keyof Counters]: number };

export const NOTHING_COUNTED: Counters = {
  turns: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  unpricedTurns: 0,
  latencyMs: 0,
  timedTurns: 0,
};

export function countersOf({ inputTokens, outputTokens, costUsd, latencyMs }: TurnUsage): Counters {
  return {
    turns: 1,
    inputTokens,
    outputTokens,
    costUsd: costUsd ?? 0,
    unpricedTurns: costUsd === null ? 1 : 0,
    latencyMs: latencyMs ?? 0,
    timedTurns: latencyMs === null ? 0 : 1,
  };
}

export function sumOf(a: Counters, b: Counters): Counters {
  const sum = { ...a };
  addTo(sum, b);
  return sum;
}

/** For who adds up many: a sum for each of them would be much garbage. */
export function addTo(sum: Sum, more: Counters): void {
  sum.turns += more.turns;
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  sum.costUsd += more.costUsd;
  sum.unpricedTurns += more.unpricedTurns;
  sum.latencyMs += more.latencyMs;
  sum.timedTurns += more.timedTurns;
}
