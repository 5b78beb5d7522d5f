// Day: days of the ledger, in UTC, numbered from 1 January 1970; and what is known of one.

import { isoTimestamp } from '../../std/clock.ts';
import type { Counters } from './counters.ts';

const DAY_MS = 24 * 3600 * 1000;
const DATE_LENGTH = 'YYYY-MM-DD'.length;

export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

export function dateOf(day: number): string {
  return isoTimestamp(day * DAY_MS).slice(0, DATE_LENGTH);
}

/** By what the sums of a day are told apart. */
export const DIMENSIONS = ['model', 'agent', 'source'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export interface DayUsage {
  readonly total: Counters;
  /** By name. */
  readonly shares: Readonly<Record<Dimension, ReadonlyMap<string, Counters>>>;
}
