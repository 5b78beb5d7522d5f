// Report: the form that every bench answers in, and how it is shown.

export interface Figure {
  readonly what: string;
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
}

export function figure(
  what: string,
  unit: string,
  values: readonly number[],
  options: { readonly target?: number; readonly moreIsBetter?: boolean } = {},
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
      result.figures.map(({ what, unit, median, min, max, rounds, target, moreIsBetter }) => [
        what,
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
  console.log(`Not measured: ${result.notMeasured.join('; ')}.`);
  console.log(JSON.stringify(result));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
