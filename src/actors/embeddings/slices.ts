// Slices: the work of one thread, cut so that nobody waits for more than a slice (D1 and D2 of embedder-protocol.ts).
// L1 A slice is of one order. Its texts are about equally long, because what is shorter is padded to the longest.
// L2 How many texts are a slice follows from how long the last ones took, by what they cost; a first one is of one text.

import type { Clock } from '../../std/clock.ts';
import type { AfterTurn } from '../../std/event-loop.ts';
import { Fifo } from '../../std/fifo.ts';
import type { EmbedResult } from './embedder-protocol.ts';
import type { Model } from './model.ts';
import type { Priority, TextKind } from './protocol.ts';

/** Two slices, the one that is waited for and one's own, and what else there is, stay below 50 ms. */
const SLICE_MS = 12;
const SLICE_TEXTS_MAX = 32;
/** Each text has some cost whatever its length, counted in characters. */
const COST_OF_A_TEXT = 16;
/** Of a new measurement in the mean. */
const NEWS_SHARE = 0.3;

export interface SliceOrder {
  readonly texts: readonly string[];
  readonly kind: TextKind;
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

interface Job extends SliceOrder {
  readonly model: Model;
  /** Indexes of the texts, the longest first (L1). */
  readonly order: readonly number[];
  done: number;
  readonly vectors: Float32Array;
  readonly tokens: number[];
  busyMs: number;
  readonly settle: { resolve(result: EmbedResult): void; reject(error: unknown): void };
}

export class Slices {
  readonly #clock: Clock;
  readonly #afterTurn: AfterTurn;
  readonly #waiting: Readonly<Record<Priority, Fifo<Job>>> = { interactive: new Fifo(), bulk: new Fifo() };
  readonly #msPerCost = new WeakMap<Model, number>();
  #isRunning = false;

  constructor(clock: Clock, afterTurn: AfterTurn) {
    this.#clock = clock;
    this.#afterTurn = afterTurn;
  }

  run(model: Model, order: SliceOrder): Promise<EmbedResult> {
    const { texts } = order;
    return new Promise((resolve, reject) => {
      this.#waiting[order.priority].push({
        ...order,
        model,
        order: texts.map((_, index) => index).sort((a, b) => lengthAt(texts, b) - lengthAt(texts, a)),
        done: 0,
        vectors: sharedVectors(texts.length * model.facts.dimensions),
        tokens: new Array<number>(texts.length).fill(0),
        busyMs: 0,
        settle: { resolve, reject },
      });
      if (!this.#isRunning) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      // Mail that came during the last slice is handled before the next one is chosen. A thread that has handled much lets the
      // event loop have a turn in between, so it takes two to be sure.
      await new Promise<void>(this.#afterTurn);
      await new Promise<void>(this.#afterTurn);
      const queue = this.#waiting.interactive.isEmpty ? this.#waiting.bulk : this.#waiting.interactive;
      const job = queue.first;
      if (job === undefined) break;
      await this.#slice(job, queue);
    }
    this.#isRunning = false;
  }

  async #slice(job: Job, queue: Fifo<Job>): Promise<void> {
    const { model, texts, settle } = job;
    if (job.signal.aborted) {
      queue.shift();
      settle.reject(job.signal.reason); // D2
      return;
    }
    const indexes = job.order.slice(job.done, job.done + this.#textsOfSlice(job));
    const startedMs = this.#clock.monotonicMs();
    try {
      const slice = await model.run(
        indexes.map((index) => texts[index] ?? ''),
        job.kind,
        job.signal,
      );
      const tookMs = this.#clock.monotonicMs() - startedMs;
      this.#learn(job, indexes, tookMs);
      job.busyMs += tookMs;
      const { dimensions } = model.facts;
      indexes.forEach((index, at) => {
        job.vectors.set(slice.vectors.subarray(at * dimensions, (at + 1) * dimensions), index * dimensions);
        job.tokens[index] = slice.tokens[at] ?? 0;
      });
    } catch (error) {
      // No other job can have taken its place: one that is begun stays at the head of its queue.
      queue.shift();
      settle.reject(error);
      return;
    }
    job.done += indexes.length;
    if (job.done < texts.length) return;
    queue.shift();
    settle.resolve({ vectors: job.vectors, tokens: job.tokens, busyMs: job.busyMs });
  }

  /** L2. */
  #textsOfSlice({ model, texts, order, done }: Job): number {
    const msPerCost = this.#msPerCost.get(model);
    if (msPerCost === undefined) return 1;
    // The first is the longest of what is left, so all of the slice cost as much as it does.
    const each = costOf(model, lengthAt(texts, order[done] ?? 0));
    return Math.min(SLICE_TEXTS_MAX, Math.max(1, Math.floor(SLICE_MS / (msPerCost * each))));
  }

  #learn({ model, texts }: Job, indexes: readonly number[], tookMs: number): void {
    const longest = costOf(model, lengthAt(texts, indexes[0] ?? 0));
    const measured = tookMs / (longest * indexes.length);
    const known = this.#msPerCost.get(model);
    this.#msPerCost.set(model, known === undefined ? measured : known + NEWS_SHARE * (measured - known));
  }
}

function lengthAt(texts: readonly string[], index: number): number {
  return texts[index]?.length ?? 0;
}

function costOf({ charactersRead }: Model, length: number): number {
  return Math.min(length, charactersRead) + COST_OF_A_TEXT;
}

/** Crosses to the thread that asked without being copied: what it takes of it, it copies anyway. */
function sharedVectors(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * Float32Array.BYTES_PER_ELEMENT));
}
