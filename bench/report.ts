// Report: the form that every bench answers in, and how it is shown.

export interface Figure {
  readonly what: string;
  /** Who was measured, where there are several. */
  readonly by?: string;
  readonly unit: string;
  /** Over the rounds. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: number;
  readonly target?: number;
  /** Whether more is better; less is when absent. */
  readonly moreIsBetter?: boolean;
}

export interface BenchReport {
  readonly figures: readonly Figure[];
  /** What these figures do not say. */
  readonly notMeasured: readonly string[];
  /** Under which they were measured. */
  readonly conditions?: readonly string[];
  /** False for a run whose figures say nothing: it is shown, and not kept as the last result. */
  readonly isKept?: boolean;
}

export function figure(
  what: string,
  unit: string,
  values: readonly number[],
  options: { readonly by?: string; readonly target?: number; readonly moreIsBetter?: boolean } = {},
): Figure {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    what,
    unit,
    median: round(quantile(sorted, 0.5)),
    min: round(sorted[0] ?? Number.NaN),
    max: round(sorted.at(-1) ?? Number.NaN),
    rounds: sorted.length,
    ...options,
  };
}

/** `sorted` ascending; the nearest rank. */
export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}

export function printReport(
  result: BenchReport & { readonly bench: string; readonly machine: string },
): void {
  console.log(`${result.bench} — ${result.machine}\n`);
  console.table(
    Object.fromEntries(
      result.figures.map(({ what, by, unit, median, min, max, rounds, target, moreIsBetter }) => [
        by === undefined ? what : `${what} · ${by}`,
        {
          unit,
          median,
          min,
          max,
          rounds,
          target: target ?? '',
          met:
            target === undefined ? '' : (moreIsBetter ? median >= target : median <= target) ? 'yes' : 'no',
        },
      ]),
    ),
  );
  for (const condition of result.conditions ?? []) console.log(condition);
  console.log(`Not measured: ${result.notMeasured.join('; ')}.`);
  console.log(JSON.stringify(result));
}

/** Two decimals, or two digits of what is below one. */
function round(value: number): number {
  return Math.abs(value) < 1 ? Number(value.toPrecision(2)) : Math.round(value * 100) / 100;
}
