// Dispatcher: which texts go to which thread, and when. Part of the embeddings actor, on the edge. Promises B3 to B5 of
// protocol.ts are kept here.
// R1 Requests are coalesced: a batch leaves when it is full, or when its oldest text has waited GATHER_MS. What is interactive
//    leaves at once when there is a thread with nothing interactive to do: it would gather for nothing.
// R2 A text that is asked for twice is worked on once, within its priority; one that was made lately comes from the cache.

import { isFault } from '../../std/errors.ts';
import { sha256Hex } from '../../std/hashes.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { EmbedResult, EngineFacts } from './embedder-protocol.ts';
import type { EngineRecord } from './engine-lock.ts';
import type { EngineSource } from './engine-source.ts';
import { BULK_DEADLINE_MS, embeddingFaults, type Priority, type TextKind } from './protocol.ts';
import { type EmbedderBehaviour, type EmbedderThread, type ThreadLimits, Threads } from './threads.ts';
import { type CachedVector, VectorCache } from './vector-cache.ts';
import { BATCH_TEXTS_MAX, type Batch, type Waiter, type Wanted, type Work, WorkQueue } from './work-queue.ts';

/** R1. */
const GATHER_MS = 5;
/** B4. Minutes of work for a model of the usual size; and what they may weigh. */
const WAITING_TEXTS_MAX: Readonly<Record<Priority, number>> = { interactive: 4_096, bulk: 8_192 };
const WAITING_LENGTH_MAX = 64 * 1024 * 1024;
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

export interface MadeVectors {
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

export class Dispatcher {
  readonly #context: ActorContext;
  readonly #onEngine: DispatcherOptions['onEngine'];
  readonly #threads: Threads;
  readonly #queues: Readonly<Record<Priority, WorkQueue>> = {
    interactive: new WorkQueue(),
    bulk: new WorkQueue(),
  };
  readonly cache: VectorCache;
  /** By key: what waits and what is worked on. */
  readonly #open: Readonly<Record<Priority, Map<string, Work>>> = { interactive: new Map(), bulk: new Map() };

  constructor(context: ActorContext, { behaviour, limits, cacheBytesMax, onEngine }: DispatcherOptions) {
    this.#context = context;
    this.#onEngine = onEngine;
    this.#threads = new Threads(context, behaviour, limits, () => this.#pump());
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
    this.#assertRoom(texts, priority);
    const { promise, resolve, reject } = Promise.withResolvers<MadeVectors>();
    const vectors = new Array<Float32Array>(texts.length);
    const works: Work[] = [];
    let missing = texts.length;
    let tokens = 0;
    const end = (): void => signal.removeEventListener('abort', leave);
    const waiter: Waiter = {
      done(index, made) {
        vectors[index] = made.vector;
        tokens += made.tokens;
        missing -= 1;
        if (missing > 0) return;
        end();
        resolve({ vectors, tokens });
      },
      failed: (error) => {
        end();
        for (const work of works) this.#unwait(waiter, work);
        reject(error);
      },
    };
    const leave = (): void => waiter.failed(signal.reason);
    const keyStart = `${engine.id}\n${kind}\n`;
    for (const [index, text] of texts.entries()) {
      const key = sha256Hex(keyStart + text);
      const cached = this.cache.get(key);
      if (cached === undefined)
        works.push(this.#wait({ waiter, index }, { key, text, engine, kind, priority }));
      else waiter.done(index, cached);
    }
    if (missing > 0) {
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      this.#pump();
    }
    return promise;
  }

  /** B4. Counts what is already made or asked for too: to be full a little early does no harm. */
  #assertRoom(texts: readonly string[], priority: Priority): void {
    const queue = this.#queues[priority];
    const length = texts.reduce((sum, text) => sum + text.length, queue.length);
    if (queue.texts + texts.length <= WAITING_TEXTS_MAX[priority] && length <= WAITING_LENGTH_MAX) return;
    throw embeddingFaults.embeddings_full(`${queue.texts} texts wait for their vectors already`);
  }

  /** R2. */
  #wait(wanted: Wanted, asked: Pick<Work, 'key' | 'text' | 'engine' | 'kind' | 'priority'>): Work {
    const open = this.#open[asked.priority];
    const known = open.get(asked.key);
    if (known !== undefined) {
      known.wanted = [...known.wanted, wanted];
      return known;
    }
    const sinceMs = this.#context.clock.monotonicMs();
    const work: Work = { ...asked, sinceMs, wanted: [wanted], batch: null, isSuspect: false };
    open.set(work.key, work);
    this.#queues[work.priority].add(work);
    return work;
  }

  #unwait(waiter: Waiter, work: Work): void {
    if (work.wanted.length === 0) return;
    work.wanted = work.wanted.filter((wanted) => wanted.waiter !== waiter);
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
      this.#send(thread, queue.takeBatch(), false);
    }
  }

  #send(thread: EmbedderThread, works: readonly Work[], isExclusive: boolean): void {
    const [first] = works;
    if (first === undefined) return;
    const { engine, kind, priority } = first;
    const batch: Batch = { works, awaited: works.length, abort: new AbortController() };
    for (const work of works) work.batch = batch;
    this.#threads.begin(thread, priority, isExclusive);
    const order = {
      source: engine.source,
      digest: engine.digest,
      texts: works.map(({ text }) => text),
      kind,
      priority,
    };
    this.#context.pipe(
      thread.ref.ask('embed', order, { signal: batch.abort.signal, deadlineMs: BULK_DEADLINE_MS }),
      (result) => {
        this.#threads.end(thread, priority);
        this.#made(engine, works, result);
        this.#pump();
      },
      (error) => {
        if (isLost(error)) this.#threads.lose(thread);
        this.#threads.end(thread, priority);
        this.#failed(engine, works, error);
        this.#pump();
      },
    );
  }

  #made(engine: EngineRecord, works: readonly Work[], { vectors, tokens }: EmbedResult): void {
    const { dimensions } = engine;
    works.forEach((work, at) => {
      // A copy of its own: a view would keep the whole batch in memory as long as any of them is kept.
      const vector = vectors.slice(at * dimensions, (at + 1) * dimensions);
      const made: CachedVector = { vector, tokens: tokens[at] ?? 0 };
      this.cache.put(work.key, made);
      for (const { waiter, index } of this.#closed(work)) waiter.done(index, made);
    });
    this.#onEngine(engine, null);
  }

  #failed(engine: EngineRecord, works: readonly Work[], error: unknown): void {
    if (!isFault(error)) throw error;
    const isEngines = error.code === 'engine_unavailable' || error.code === 'engine_changed';
    if (isEngines) this.#onEngine(engine, error);
    const told = error.code === 'engine_changed' ? embeddingFaults.engine_unavailable(error.message) : error;
    for (const work of works) {
      work.batch = null;
      if (work.wanted.length === 0) continue;
      if (isLost(error) && !work.isSuspect) {
        work.isSuspect = true;
        this.#queues[work.priority].add(work); // B5
        continue;
      }
      const fault = isLost(error)
        ? embeddingFaults.text_unworkable('the thread that worked on this text ended, twice')
        : told;
      for (const { waiter } of this.#closed(work)) waiter.failed(fault);
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
