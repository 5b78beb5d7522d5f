// Nearest: the best few of many, and how near two vectors are. Both are the inner loops of a search.
// B1 Of equal similarities the higher number, which was filed later, comes first.

export interface Near {
  readonly number: number;
  readonly similarity: number;
}

/** Keeps the `limit` nearest of those that it is offered. */
export class Nearest {
  readonly #limit: number;
  readonly #kept: Near[] = [];
  #least = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  offer(number: number, similarity: number): void {
    // The usual case: too far, or not a number at all.
    if (!(similarity >= this.#least)) return;
    const kept = this.#kept;
    let place = kept.length;
    while (place > 0 && isNearer(number, similarity, kept[place - 1] as Near)) place -= 1;
    if (place === this.#limit) return;
    kept.splice(place, 0, { number, similarity });
    if (kept.length > this.#limit) kept.pop();
    if (kept.length === this.#limit) this.#least = (kept[this.#limit - 1] as Near).similarity;
  }

  /** What is less near than that is not kept. */
  get least(): number {
    return this.#least;
  }

  /** The nearest first. */
  get all(): readonly Near[] {
    return this.#kept;
  }
}

function isNearer(number: number, similarity: number, other: Near): boolean {
  return similarity > other.similarity || (similarity === other.similarity && number > other.number);
}

/**
 * The inner product of `a` with what lies in `b` from `at` on; of vectors of length one, the cosine of their angle. Four sums
 * at once, because the processor need not wait for one addition before it begins the next.
 */
export function product(a: Float32Array, b: Float32Array, at = 0): number {
  const { length } = a;
  const whole = length - (length % 4);
  let sum0 = 0;
  let sum1 = 0;
  let sum2 = 0;
  let sum3 = 0;
  for (let i = 0; i < whole; i += 4) {
    sum0 += (a[i] as number) * (b[at + i] as number);
    sum1 += (a[i + 1] as number) * (b[at + i + 1] as number);
    sum2 += (a[i + 2] as number) * (b[at + i + 2] as number);
    sum3 += (a[i + 3] as number) * (b[at + i + 3] as number);
  }
  for (let i = whole; i < length; i += 1) sum0 += (a[i] as number) * (b[at + i] as number);
  return sum0 + sum1 + (sum2 + sum3);
}
