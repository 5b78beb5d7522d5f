// Spread: how long something took, over many times. A histogram, not a list: there are millions of them.

import { createHistogram } from 'node:perf_hooks';

/** In milliseconds. */
export interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export class SpreadMeter {
  #histogram = createHistogram();

  addMs(ms: number): void {
    this.#histogram.record(Math.max(1, Math.round(ms * 1000)));
  }

  /** What was added since the last time that it was taken. */
  take(): Spread {
    const histogram = this.#histogram;
    this.#histogram = createHistogram();
    const { count } = histogram;
    if (count === 0) return { count, p50: Number.NaN, p99: Number.NaN, max: Number.NaN };
    return {
      count,
      p50: histogram.percentile(50) / 1000,
      p99: histogram.percentile(99) / 1000,
      max: histogram.max / 1000,
    };
  }
}
