// Harness: contestants that answer one question side by side, in one process.
// R1 Interleaved: each round measures every contestant once, and the next round begins with another one, so that a busy moment
//    of the machine meets them all.
// R2 Warmed up: the first WARM_UP_ROUNDS are not counted. Garbage is collected before each measurement, by force.
// R3 Completed: a contestant stops its clock when all its work has been handled, and throws when a count is wrong.
// R4 A ratio is taken within each round, of two measurements that are seconds apart, and only then the median of the rounds.

import { type Figure, figure, quantile } from '../report.ts';

/** What one measurement found, by the keys of its contest's rows. */
export type Readings = Readonly<Record<string, number>>;

/** A contestant that is set up. */
export interface Entrant {
  measure(): Promise<Readings>;
  close(): Promise<void>;
}

export interface Contestant {
  readonly name: string;
  open(): Promise<Entrant>;
}

export interface Row {
  readonly key: string;
  readonly what: string;
  readonly unit: string;
  readonly moreIsBetter: boolean;
  /** For the first contestant. */
  readonly target?: number;
  /** Of the first contestant to the named ones; those that do not take part are passed over. */
  readonly ratios?: readonly { readonly to: string; readonly target?: number }[];
}

/** One question; its first contestant is Troupe. */
export interface Contest {
  readonly rows: readonly Row[];
  readonly contestants: readonly Contestant[];
}

export interface Size {
  readonly rounds: number;
  /** A smoke run: a twentieth of the work. Its figures say nothing. */
  readonly isQuick: boolean;
}

const WARM_UP_ROUNDS = 2;
const QUICK_DIVISOR = 20;

/** How much work a measurement does: `count`, or a part of it in a smoke run. */
export function amount(count: number, { isQuick }: Size): number {
  return isQuick ? Math.ceil(count / QUICK_DIVISOR) : count;
}

export async function hold(contest: Contest, { rounds, isQuick }: Size): Promise<Figure[]> {
  const entrants: { readonly name: string; readonly entrant: Entrant; readonly readings: Readings[] }[] = [];
  try {
    for (const { name, open } of contest.contestants)
      entrants.push({ name, entrant: await open(), readings: [] });
    const warmUps = isQuick ? 1 : WARM_UP_ROUNDS;
    for (let round = -warmUps; round < rounds; round += 1) {
      for (let i = 0; i < entrants.length; i += 1) {
        const one = entrants[(i + round + warmUps) % entrants.length];
        if (one === undefined) continue;
        await settle();
        const reading = await one.entrant.measure();
        if (round >= 0) one.readings.push(reading);
      }
    }
  } finally {
    for (const { entrant } of entrants) await entrant.close();
  }
  return contest.rows.flatMap((row) => figuresOf(row, entrants));
}

function figuresOf(
  { key, what, unit, moreIsBetter, target, ratios = [] }: Row,
  entrants: readonly { readonly name: string; readonly readings: readonly Readings[] }[],
): Figure[] {
  const valuesOf = (name: string): number[] =>
    entrants.find((one) => one.name === name)?.readings.flatMap((reading) => reading[key] ?? []) ?? [];
  const subject = entrants[0]?.name ?? '';
  const measured = entrants
    .map(({ name }) => ({ name, values: valuesOf(name) }))
    .filter(({ values }) => values.length > 0)
    .map(({ name, values }) =>
      figure(what, unit, values, {
        by: name,
        moreIsBetter,
        ...(name === subject && target !== undefined ? { target } : {}),
      }),
    );
  const compared = ratios.flatMap(({ to, target: ratioTarget }) => {
    const others = valuesOf(to);
    if (others.length === 0) return [];
    const quotients = valuesOf(subject).map((value, round) => value / (others[round] ?? Number.NaN));
    return figure(what, '×', quotients, {
      by: `${subject} ÷ ${to}`,
      moreIsBetter,
      ...(ratioTarget === undefined ? {} : { target: ratioTarget }),
    });
  });
  return [...measured, ...compared];
}

/** R2. */
async function settle(): Promise<void> {
  collectGarbage();
  await loopTurn();
}

export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('start this with --expose-gc');
  globalThis.gc();
}

export function loopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** R3. */
export function expectCount(what: string, actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
}

/** Times `count` repetitions one after the other; in microseconds. */
export async function latencies(
  count: number,
  work: (i: number) => Promise<void>,
): Promise<{ readonly p50: number; readonly p99: number }> {
  const samples = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    const startedMs = performance.now();
    await work(i);
    samples[i] = (performance.now() - startedMs) * 1000;
  }
  return percentiles(samples);
}

/** `samples` is sorted in place. */
export function percentiles(samples: Float64Array): { readonly p50: number; readonly p99: number } {
  samples.sort();
  const sorted = [...samples];
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

/** Per second, in units of `unit`. */
export async function rate(count: number, unit: number, work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return count / ((performance.now() - startedMs) / 1000) / unit;
}
