// Dispatcher: which texts go to which thread, and when. Part of the embeddings actor, on the edge. Promises B3 to B5 of
// protocol.ts are kept here.
// R1 Requests are coalesced: a batch leaves when it is full, or when its oldest text has waited GATHER_MS. What is interactive
//    leaves at once when there is a thread with nothing interactive to do: it would gather for nothing.
// R2 A text that is asked for twice is worked on once, within its priority; one that was made lately comes from the cache.
// R3 Many texts are taken in pieces, between which the edge does what else there is: it has the whole service to serve. The
//    threads begin with the first piece.

import { isFault } from '../../std/errors.ts';
import { afterTurn } from '../../std/event-loop.ts';
import { sha256Hex } from '../../std/hashes.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { usage } from '../usage/protocol.ts';
import { Asking, type MadeVectors } from './asking.ts';
import type { EmbedResult, EngineFacts } from './embedder-protocol.ts';
import type { EngineRecord } from './engine-lock.ts';
import type { EngineSource } from './engine-source.ts';
import { embeddingTurn } from './expense.ts';
import { Pace } from './pace.ts';
import { BULK_DEADLINE_MS, embeddingFaults, type Priority, type TextKind } from './protocol.ts';
import { type EmbedderBehaviour, type EmbedderThread, type ThreadLimits, Threads } from './threads.ts';
import { type CachedVector, VectorCache } from './vector-cache.ts';
import { BATCH_TEXTS_MAX, type Batch, type Wanted, type Work, WorkQueue } from './work-queue.ts';

/** R1. */
const GATHER_MS = 5;
/** B4. Minutes of work for a model of the usual size; and what they may weigh. */
const WAITING_TEXTS_MAX: Readonly<Record<Priority, number>> = { interactive: 4_096, bulk: 8_192 };
const WAITING_LENGTH_MAX = 64 * 1024 * 1024;
/** R3. Less than a millisecond of hashing. */
const TAKEN_TEXTS_MAX = 128;
const TAKEN_LENGTH_MAX = 256 * 1024;
const ID_DIGITS = 16;
/** To open a large model takes a while, and its digest reads all of it. */
const INSPECT_DEADLINE_MS = 120_000;

/** Its thread died, with all that it was given. */
const LOST_CODES: ReadonlySet<string> = new Set(['actor_terminated', 'actor_crashed', 'actor_unavailable']);

export interface DispatcherOptions {
  readonly behaviour: EmbedderBehaviour;
  readonly limits: () => ThreadLimits;
  readonly cacheBytesMax: number;
  /** A batch of this engine came back, or failed because of the engine. */
  readonly onEngine: (engine: EngineRecord, error: unknown) => void;
}

export class Dispatcher {
  readonly #context: ActorContext;
  readonly #onEngine: DispatcherOptions['onEngine'];
  readonly #threads: Threads;
  readonly #queues: Readonly<Record<Priority, WorkQueue>> = {
    interactive: new WorkQueue(),
    bulk: new WorkQueue(),
  };
  readonly #pace = new Pace();
  readonly cache: VectorCache;
  /** Of the ids of all orders of this life. */
  readonly #idStart: string;
  #orders = 0;
  /** By key: what waits and what is worked on. */
  readonly #open: Readonly<Record<Priority, Map<string, Work>>> = { interactive: new Map(), bulk: new Map() };

  /** Of requests that were let in: what is not taken yet (R3). */
  readonly #arriving: Readonly<Record<Priority, { texts: number; length: number }>> = {
    interactive: { texts: 0, length: 0 },
    bulk: { texts: 0, length: 0 },
  };

  constructor(context: ActorContext, { behaviour, limits, cacheBytesMax, onEngine }: DispatcherOptions) {
    this.#context = context;
    this.#onEngine = onEngine;
    this.#threads = new Threads(context, behaviour, limits, () => this.#pump());
    this.#idStart = context.random.hex(ID_DIGITS);
    this.cache = new VectorCache(cacheBytesMax);
  }

  view(): object {
    const { interactive, bulk } = this.#queues;
    return {
      waiting: { interactive: interactive.texts, bulk: bulk.texts },
      cacheBytes: this.cache.bytes,
      threads: this.#threads.views(),
    };
  }

  inspect(source: EngineSource, signal: AbortSignal): Promise<EngineFacts> {
    const thread = this.#threads.withRoom('interactive');
    if (thread === null) throw embeddingFaults.embeddings_full('all threads are busy');
    this.#threads.begin(thread, 'interactive', false);
    const asked = thread.ref.ask('inspect', source, { deadlineMs: INSPECT_DEADLINE_MS, signal });
    return asked.finally(() => this.#threads.end(thread, 'interactive'));
  }

  /** With the next work, and other files or limits. */
  renewThreads(): void {
    this.#threads.replaceIdle();
  }

  /** @throws embeddings_full */
  embed(
    engine: EngineRecord,
    texts: readonly string[],
    kind: TextKind,
    priority: Priority,
    signal: AbortSignal,
  ): Promise<MadeVectors> {
    if (texts.length === 0) return Promise.resolve({ vectors: [], tokens: 0 });
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    this.#assertRoom(texts.length, length, priority);
    const asking = new Asking(texts.length, signal, (works) => {
      for (const work of works) this.#unwait(asking, work);
    });
    const keyStart = `${engine.id}\n${kind}\n`;
    const arriving = this.#arriving[priority];
    arriving.texts += texts.length;
    arriving.length += length;
    /** R3. */
    const take = (from: number): void => {
      let index = from;
      for (let taken = 0; index < texts.length; index += 1) {
        const text = texts[index] as string;
        taken += text.length;
        if (index > from && (index === from + TAKEN_TEXTS_MAX || taken > TAKEN_LENGTH_MAX)) break;
        arriving.texts -= 1;
        arriving.length -= text.length;
        if (asking.hasEnded) continue;
        const key = sha256Hex(keyStart + text);
        const cached = this.cache.get(key);
        if (cached !== undefined) asking.done(index, cached);
        else this.#wait({ asking, index }, key, text, engine, kind, priority);
      }
      this.#pump();
      if (index < texts.length) this.#context.pipe(new Promise<void>(afterTurn), () => take(index));
    };
    take(0);
    return asking.made;
  }

  /** B4. Counts what is already made or asked for too: to be full a little early does no harm. */
  #assertRoom(texts: number, length: number, priority: Priority): void {
    const [queue, arriving] = [this.#queues[priority], this.#arriving[priority]];
    const waiting = queue.texts + arriving.texts;
    const isTooMuch = queue.length + arriving.length + length > WAITING_LENGTH_MAX;
    if (waiting + texts <= WAITING_TEXTS_MAX[priority] && !isTooMuch) return;
    throw embeddingFaults.embeddings_full(`${waiting} texts wait for their vectors already`);
  }

  /** R2. */
  #wait(
    wanted: Wanted,
    key: string,
    text: string,
    engine: EngineRecord,
    kind: TextKind,
    priority: Priority,
  ): void {
    const open = this.#open[priority];
    let work = open.get(key);
    if (work === undefined) {
      const sinceMs = this.#context.clock.monotonicMs();
      // For each of many texts: as small as it can be.
      work = { key, text, engine, kind, priority, sinceMs, wanted: [wanted], batch: null, isSuspect: false };
      open.set(key, work);
      this.#queues[priority].add(work);
    } else work.wanted.push(wanted);
    wanted.asking.waitsFor(work);
  }

  #unwait(asking: Asking, work: Work): void {
    if (work.wanted.length === 0) return;
    work.wanted = work.wanted.filter((wanted) => wanted.asking !== asking);
    if (work.wanted.length > 0) return;
    this.#open[work.priority].delete(work.key);
    if (this.#queues[work.priority].remove(work) || work.batch === null) return;
    work.batch.awaited -= 1;
    if (work.batch.awaited === 0) work.batch.abort.abort(); // B4
  }

  #pump(): void {
    const { interactive, bulk } = this.#queues;
    this.#sendSuspects();
    this.#sendReady(interactive, 'interactive');
    // Threads that suspects wait for are to run empty.
    if (!interactive.hasSuspects && !bulk.hasSuspects) this.#sendReady(bulk, 'bulk');
  }

  /** B5. */
  #sendSuspects(): void {
    for (const queue of [this.#queues.interactive, this.#queues.bulk]) {
      while (queue.hasSuspects) {
        const thread = this.#threads.idle();
        const work = thread === null ? null : queue.takeSuspect();
        if (thread === null || work === null) return;
        this.#send(thread, [work], true);
      }
    }
  }

  /** R1. */
  #sendReady(queue: WorkQueue, priority: Priority): void {
    for (let sinceMs = queue.sinceMs; sinceMs !== null; sinceMs = queue.sinceMs) {
      const thread = this.#threads.withRoom(priority);
      if (thread === null) return;
      const goesAtOnce = priority === 'interactive' && thread.batches.interactive === 0;
      const leftMs = sinceMs + GATHER_MS - this.#context.clock.monotonicMs();
      const isReady = queue.texts >= BATCH_TEXTS_MAX || leftMs <= 0 || goesAtOnce;
      if (!isReady) {
        this.#context.after(`gather ${priority}`, leftMs, () => this.#pump());
        return;
      }
      this.#send(
        thread,
        queue.takeBatch((engine) => this.#pace.batchLength(engine)),
        false,
      );
    }
  }

  #send(thread: EmbedderThread, works: readonly Work[], isExclusive: boolean): void {
    const [first] = works;
    if (first === undefined) return;
    const { engine, kind, priority } = first;
    const batch: Batch = { works, awaited: works.length, abort: new AbortController() };
    for (const work of works) work.batch = batch;
    this.#threads.begin(thread, priority, isExclusive);
    this.#orders += 1;
    const order = {
      id: `${this.#idStart}.${this.#orders}`,
      source: engine.source,
      digest: engine.digest,
      texts: works.map(({ text }) => text),
      kind,
      priority,
    };
    this.#context.pipe(
      thread.ref.ask('embed', order, { signal: batch.abort.signal, deadlineMs: BULK_DEADLINE_MS }),
      (result) => {
        thread.isWarm = true;
        this.#threads.end(thread, priority);
        this.#made(engine, works, result);
        this.#pump();
      },
      (error) => {
        if (isLost(error)) {
          this.#threads.lose(thread);
          this.#context.tell(usage, 'discard', embeddingTurn(order.id));
        }
        this.#threads.end(thread, priority);
        this.#failed(engine, works, error);
        this.#pump();
      },
    );
  }

  #made(engine: EngineRecord, works: readonly Work[], { vectors, tokens, busyMs }: EmbedResult): void {
    this.#pace.learn(engine, works, busyMs);
    const { dimensions } = engine;
    works.forEach((work, at) => {
      // A copy of its own: a view would keep the whole batch in memory as long as any of them is kept.
      const vector = vectors.slice(at * dimensions, (at + 1) * dimensions);
      const made: CachedVector = { vector, tokens: tokens[at] ?? 0 };
      this.cache.put(work.key, made);
      for (const { asking, index } of this.#closed(work)) asking.done(index, made);
    });
    this.#onEngine(engine, null);
  }

  #failed(engine: EngineRecord, works: readonly Work[], error: unknown): void {
    if (!isFault(error)) throw error;
    const isEngines = error.code === 'engine_unavailable' || error.code === 'engine_changed';
    if (isEngines) this.#onEngine(engine, error);
    const told = error.code === 'engine_changed' ? embeddingFaults.engine_unavailable(error.message) : error;
    const isOfOneText = isLost(error) || (error.code === 'text_unworkable' && works.length > 1);
    for (const work of works) {
      work.batch = null;
      if (work.wanted.length === 0) continue;
      if (isOfOneText && !work.isSuspect) {
        work.isSuspect = true;
        this.#queues[work.priority].add(work); // B5
        continue;
      }
      const fault = isLost(error)
        ? embeddingFaults.text_unworkable('the thread that worked on this text ended, twice')
        : told;
      for (const { asking } of this.#closed(work)) asking.failed(fault);
    }
  }

  /** Answers who wanted it: from now on nobody does. */
  #closed(work: Work): readonly Wanted[] {
    const { wanted } = work;
    const open = this.#open[work.priority];
    // Who left may have come again, and be waiting for another one.
    if (open.get(work.key) === work) open.delete(work.key);
    work.batch = null;
    work.wanted = [];
    return wanted;
  }
}

function isLost(error: unknown): boolean {
  return isFault(error) && LOST_CODES.has(error.code);
}
