// GraphRecall: how widely a graph has to be asked so that it finds enough of what comparing all finds, and whether that is quicker.
// It depends on the vectors, and on the questions still more, so it is measured on both.
// J1 A question is no passage: it is farther from all of them, and a graph finds its nearest less surely. So a graph is judged by
//    the last questions that were asked. Before there are enough of them, by passages with so much noise that a cosine of
//    NOISY_COSINE is left: as far from all others as questions are, and found no better than if they were not in the graph.
// J2 The share found is a mean over the questions. A width is enough when the mean less two of its standard errors reaches the
//    target: a luckier sample than 97 of 100 would have to be drawn to take a width for enough that is not.
// J3 A width that takes longer than comparing all is none, by the median of both on the same questions.
// J4 Each step asks one question once: searches get their turn in between.

import { systemClock } from '../std/clock.ts';
import { seededRandom } from '../std/ids.ts';

/** As many as a hybrid search reads. Of the first ten of them a graph misses fewer. */
export const NEAREST = 50;
const QUESTIONS = 64;
/** Of what it was judged with. */
const CHANGES_SHARE_MAX = 0.5;
const WIDTHS = [100, 200, 400, 800, 1_600, 3_200] as const;
const NOISY_COSINE = 0.5;
const STANDARD_ERRORS = 2;

export interface Judgement {
  /** How many to keep in sight; null when the graph is not worth asking. */
  readonly width: number | null;
  /** The share found with it, or of the last width that was tried. */
  readonly found: number;
  readonly by: 'questions' | 'noise';
  /** The share to be found. */
  readonly target: number;
  /** In the graph then, and the number of the last change (vectors.ts). */
  readonly vectors: number;
  readonly lastNumber: number;
}

export interface JudgeOptions {
  /** The share to be found. */
  readonly target: number;
  /** J3 does not hold. */
  readonly isTimeNoMatter: boolean;
  /** The numbers of the nearest among those in the graph. */
  readonly compare: (question: Float32Array) => readonly number[];
  readonly ask: (question: Float32Array, width: number) => readonly number[];
  /** About so many of the passages, spread over all. */
  readonly passages: (count: number) => Iterable<{ readonly number: number; readonly point: Float32Array }>;
}

/** As the graph is now. */
interface Circumstances {
  readonly vectors: number;
  readonly lastNumber: number;
  readonly dimensions: number;
}

export class GraphJudge {
  readonly #options: JudgeOptions;
  /** The last that were asked. */
  readonly #questions: Float32Array[] = [];
  #asked = 0;
  #askedWhenJudged = 0;
  #judgement: Judgement | null = null;
  #trial: Generator<void, void> | undefined;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  get judgement(): Judgement | null {
    return this.#judgement;
  }

  /** Another graph, or none, and how that was judged: by another target is not at all. */
  restart(judgement: Judgement | null): void {
    this.#judgement = judgement?.target === this.#options.target ? judgement : null;
    this.#trial = undefined;
  }

  note(question: Float32Array): void {
    this.#questions[this.#asked % QUESTIONS] = question.slice();
    this.#asked += 1;
  }

  /** How widely to ask for so many; null when it is not to be asked, or too much has changed since it was judged. */
  width(limit: number, lastNumber: number): number | null {
    const width = this.#judgement?.width ?? null;
    if (width === null || this.#isOld(lastNumber)) return null;
    return Math.ceil(width * Math.max(1, limit / NEAREST));
  }

  /** J4. False when there is nothing to judge. */
  step(now: Circumstances): boolean {
    if (this.#trial === undefined && !this.#isDue(now.lastNumber)) return false;
    this.#trial ??= this.#judge(now);
    if (this.#trial.next().done) this.#trial = undefined;
    return true;
  }

  #isDue(lastNumber: number): boolean {
    if (this.#judgement === null || this.#isOld(lastNumber)) return true;
    // The more have been asked, the less another sample of them is worth its time.
    return this.#asked >= Math.max(QUESTIONS, 2 * this.#askedWhenJudged);
  }

  #isOld(lastNumber: number): boolean {
    if (this.#judgement === null) return false;
    return lastNumber - this.#judgement.lastNumber > CHANGES_SHARE_MAX * this.#judgement.vectors;
  }

  *#judge({ vectors, lastNumber, dimensions }: Circumstances): Generator<void, void> {
    this.#askedWhenJudged = this.#asked;
    const asked = this.#questions.filter(({ length }) => length === dimensions);
    const by = asked.length === QUESTIONS ? 'questions' : 'noise';
    const made = by === 'noise' ? [...this.#options.passages(QUESTIONS)] : [];
    const questions = by === 'questions' ? asked : made.map(({ point, number }) => noisy(point, number));
    this.#judgement = {
      ...(yield* this.#judgedBy(questions)),
      by,
      target: this.#options.target,
      vectors,
      lastNumber,
    };
  }

  *#judgedBy(questions: readonly Float32Array[]): Generator<void, Pick<Judgement, 'width' | 'found'>> {
    const { compare, ask, target, isTimeNoMatter } = this.#options;
    const expected: ReadonlySet<number>[] = [];
    const comparingMs: number[] = [];
    for (const question of questions) {
      expected.push(new Set(timed(comparingMs, () => compare(question))));
      yield;
    }
    let found = 0;
    for (const width of WIDTHS) {
      const shares: number[] = [];
      const askingMs: number[] = [];
      for (const [i, question] of questions.entries()) {
        const numbers = timed(askingMs, () => ask(question, width));
        shares.push(shareOf(expected[i] as ReadonlySet<number>, numbers));
        yield;
      }
      const { mean, error } = estimated(shares);
      found = mean;
      if (!isTimeNoMatter && median(askingMs) > median(comparingMs)) break; // J3
      if (mean - STANDARD_ERRORS * error >= target) return { width, found }; // J2
    }
    return { width: null, found };
  }
}

/** J1. The same noise for the same number. */
export function noisy(point: Float32Array, number: number): Float32Array {
  const { float } = seededRandom(number);
  const noise = point.map(() => float() - 0.5);
  const scale = (Math.sqrt(1 - NOISY_COSINE ** 2) * lengthOf(point)) / lengthOf(noise);
  return point.map((member, i) => NOISY_COSINE * member + scale * (noise[i] as number));
}

function lengthOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, member) => sum + member * member, 0));
}

function timed<Result>(times: number[], act: () => Result): Result {
  const startedMs = systemClock.monotonicMs();
  const result = act();
  times.push(systemClock.monotonicMs() - startedMs);
  return result;
}

function shareOf(expected: ReadonlySet<number>, numbers: readonly number[]): number {
  if (expected.size === 0) return 1;
  return numbers.filter((number) => expected.has(number)).length / expected.size;
}

function estimated(shares: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / (shares.length - 1);
  return { mean, error: Math.sqrt(variance / shares.length) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
