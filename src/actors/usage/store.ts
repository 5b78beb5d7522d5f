// Store: sums per day, and which turns they hold.
// S1 A turn's mark and the sums that it changes are one write: it is in all of them or in none, and never twice.
// S2 Marks are kept for MARK_DAYS, days for as long as a report may ask for them. Both are forgotten in bounded writes.
// S3 A day has at most NAMES_MAX names of each kind; what comes beyond is summed up under OTHER.
// S4 Days that are over are kept in memory once read: they change no more, or this store hears of it.

import type { Storage, Transaction } from '../../storage/contract.ts';
import { type Counters, countersOf, NOTHING_COUNTED, sumOf } from './counters.ts';
import { type DayUsage, DIMENSIONS, type Dimension } from './day.ts';
import { AGENT_UNNAMED, type TurnKey, type TurnUsage, USAGE_DAYS_MAX } from './protocol.ts';

/** A turn is told again after a crash, at the next start at the latest; that it may take a day to come is plenty. */
const MARK_DAYS = 2;
/** With a reserve for clocks that are put back. */
const DAYS_KEPT = USAGE_DAYS_MAX + 2;
const NAMES_MAX = 200;
const OTHER = '_other';
/** Longer names would not fit a key. */
const NAME_LENGTH_MAX = 200;

interface DayRow {
  readonly total: Counters;
  /** How many names of each kind there are (S3). */
  readonly names: Readonly<Record<Dimension, number>>;
}

const NEW_DAY: DayRow = { total: NOTHING_COUNTED, names: { model: 0, agent: 0, source: 0 } };

export interface UsageStore {
  /** S1. */
  enter(entry: TurnKey & TurnUsage, day: number): Promise<void>;
  /** US dollars, as far as they are known. */
  costOn(day: number): number;
  /** Null for a day without turns. */
  usageOn(day: number, today: number): DayUsage | null;
  /** S2. Forgets what is too old, at most `rowsMax` of each kind; true when there may be more. */
  sweep(today: number, rowsMax: number): Promise<boolean>;
}

export function openUsageStore(storage: Storage): UsageStore {
  const marks = storage.table<number, { byDay: (day: number) => number }>({
    name: 'usage-turns',
    indexes: { byDay: (day) => day },
  });
  const days = storage.table<DayRow>({ name: 'usage-days' });
  /** By day, kind and name. */
  const shares = storage.table<Counters>({ name: 'usage-shares' });
  const past = new Map<number, DayUsage | null>();

  /** S3. */
  const addShare = (
    tx: Transaction,
    day: number,
    dimension: Dimension,
    name: string,
    counters: Counters,
    namesCount: number,
  ): boolean => {
    const known = tx.get(shares, [day, dimension, name]);
    if (known === undefined && namesCount >= NAMES_MAX && name !== OTHER)
      return addShare(tx, day, dimension, OTHER, counters, namesCount);
    tx.put(shares, [day, dimension, name], sumOf(known ?? NOTHING_COUNTED, counters));
    return known === undefined;
  };

  const read = (day: number): DayUsage | null => {
    const row = days.get(day);
    if (row === undefined) return null;
    const found: Record<Dimension, Map<string, Counters>> = {
      model: new Map(),
      agent: new Map(),
      source: new Map(),
    };
    for (const { key, value } of shares.range({ prefix: [day] })) {
      const [, dimension, name] = key as readonly [number, Dimension, string];
      found[dimension].set(name, value);
    }
    return { total: row.total, shares: found };
  };

  return {
    async enter(entry, day) {
      const mark = [entry.source, entry.turn_id];
      const counters = countersOf(entry);
      const names: Readonly<Record<Dimension, string>> = {
        model: nameOf(entry.model),
        agent: nameOf(entry.agent_id ?? AGENT_UNNAMED),
        source: entry.source,
      };
      await storage.write('committed', (tx) => {
        if (tx.get(marks, mark) !== undefined) return;
        tx.put(marks, mark, day);
        const row = tx.get(days, day) ?? NEW_DAY;
        const counts = { ...row.names };
        for (const dimension of DIMENSIONS) {
          if (addShare(tx, day, dimension, names[dimension], counters, counts[dimension]))
            counts[dimension] += 1;
        }
        tx.put(days, day, { total: sumOf(row.total, counters), names: counts });
      });
      past.delete(day); // S4
    },
    costOn: (day) => days.get(day)?.total.costUsd ?? 0,
    usageOn(day, today) {
      if (day >= today) return read(day);
      const known = past.get(day);
      if (known !== undefined) return known;
      const usage = read(day);
      past.set(day, usage);
      return usage;
    },
    async sweep(today, rowsMax) {
      const firstKept = today - DAYS_KEPT + 1;
      for (const day of past.keys()) if (day < firstKept) past.delete(day);
      return storage.write('committed', (tx) => {
        const counts = [
          removeAll(tx, marks, tx.by(marks, 'byDay', { end: today - MARK_DAYS, limit: rowsMax })),
          removeAll(tx, days, tx.range(days, { end: firstKept, limit: rowsMax })),
          removeAll(tx, shares, tx.range(shares, { end: [firstKept], limit: rowsMax })),
        ];
        return counts.some((count) => count === rowsMax);
      });
    },
  };
}

function removeAll(
  tx: Transaction,
  table: Parameters<Transaction['remove']>[0],
  entries: ReturnType<Transaction['range']>,
): number {
  const keys = Array.from(entries, ({ key }) => key);
  for (const key of keys) tx.remove(table, key);
  return keys.length;
}

function nameOf(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed();
}
