// Threads: the embedders, each alone on a thread of its own. Owned by the dispatcher.
// T1 A thread is started when there is bulk work that no other is free for, or interactive work that no other has room for, and
//    let go when it has had none for a while: models are large, and most of the time nobody asks. What is interactive goes to a
//    thread that has its model open, if there is one: to open it takes longer than to wait for a few others.
// T2 A thread has at most BULK_BATCHES_MAX bulk batches, one that it works on and one that it need not wait for, and as many
//    interactive ones, which it takes first.
// T3 A suspect (see work-queue.ts) has its thread to itself.

import type { ActorContext, Behaviour } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import type { EmbedderArguments } from './embedder.ts';
import type { embedder } from './embedder-protocol.ts';
import type { Priority } from './protocol.ts';

/** T2. */
const BATCHES_MAX: Readonly<Record<Priority, number>> = { interactive: 4, bulk: 2 };

/** A thread that runs a large model sees its stop when the slice is done. */
const SHUTDOWN_MS = 5_000;

export interface EmbedderThread {
  readonly id: string;
  readonly ref: Ref<typeof embedder>;
  /** What it was given and has not answered. */
  readonly batches: Record<Priority, number>;
  /** It has answered once. */
  isWarm: boolean;
  /** T3. */
  isExclusive: boolean;
}

export type EmbedderBehaviour = Behaviour<typeof embedder, EmbedderArguments>;

export interface ThreadLimits {
  readonly threadsMax: number;
  readonly idleMs: number;
  readonly args: EmbedderArguments;
}

export class Threads {
  readonly #context: ActorContext;
  readonly #behaviour: EmbedderBehaviour;
  readonly #limits: () => ThreadLimits;
  readonly #onEnded: () => void;
  readonly #threads = new Map<string, EmbedderThread>();
  #idNext = 1;

  constructor(
    context: ActorContext,
    behaviour: EmbedderBehaviour,
    limits: () => ThreadLimits,
    onEnded: () => void,
  ) {
    this.#context = context;
    this.#behaviour = behaviour;
    this.#limits = limits;
    this.#onEnded = onEnded;
  }

  views(): readonly Omit<EmbedderThread, 'ref'>[] {
    return Array.from(this.#threads.values(), ({ ref: _, ...view }) => view);
  }

  /** One with room, the freest first; a new one rather than one that is busy with bulk (T1); null when all are full. */
  withRoom(priority: Priority): EmbedderThread | null {
    let best: EmbedderThread | null = null;
    for (const thread of this.#threads.values()) {
      if (thread.isExclusive || thread.batches[priority] >= BATCHES_MAX[priority]) continue;
      if (best === null || isBetter(thread, best, priority)) best = thread;
    }
    const isNewWanted = best === null || (priority === 'bulk' && best.batches.bulk > 0);
    return (isNewWanted ? this.#started() : null) ?? best;
  }

  /** T3. */
  idle(): EmbedderThread | null {
    for (const thread of this.#threads.values()) if (isIdle(thread)) return thread;
    return this.#started();
  }

  begin(thread: EmbedderThread, priority: Priority, isExclusive: boolean): void {
    thread.batches[priority] += 1;
    thread.isExclusive = isExclusive;
    this.#context.after(idleTimer(thread), this.#limits().idleMs, () => this.#restIfIdle(thread));
  }

  end(thread: EmbedderThread, priority: Priority): void {
    thread.batches[priority] -= 1;
    thread.isExclusive = false;
    if (!this.#threads.has(thread.id)) return;
    this.#context.after(idleTimer(thread), this.#limits().idleMs, () => this.#restIfIdle(thread));
  }

  /** No more work for a thread that is dead; whether it has told so or not. */
  lose(thread: EmbedderThread): void {
    this.#threads.delete(thread.id);
  }

  /** Others take their place when there is work: with other limits, or with files that have changed. */
  replaceIdle(): void {
    for (const thread of this.#threads.values()) this.#restIfIdle(thread);
  }

  #started(): EmbedderThread | null {
    const { threadsMax, args } = this.#limits();
    if (this.#threads.size >= threadsMax) return null;
    const id = String(this.#idNext);
    this.#idNext += 1;
    const ref = this.#context.spawn(this.#behaviour, args, {
      id,
      restart: 'temporary',
      placement: 'dedicated',
      shutdownMs: SHUTDOWN_MS,
    });
    const thread: EmbedderThread = {
      id,
      ref,
      batches: { interactive: 0, bulk: 0 },
      isWarm: false,
      isExclusive: false,
    };
    this.#threads.set(id, thread);
    this.#context.watch(ref, () => {
      this.lose(thread);
      this.#onEnded();
    });
    return thread;
  }

  #restIfIdle(thread: EmbedderThread): void {
    if (!isIdle(thread) || !this.#threads.delete(thread.id)) return;
    this.#context.background(this.#context.stopChild(thread.id));
  }
}

function isBetter(one: EmbedderThread, other: EmbedderThread, priority: Priority): boolean {
  if (priority === 'interactive' && one.isWarm !== other.isWarm) return one.isWarm;
  const [load, otherLoad] = [one.batches[priority], other.batches[priority]];
  if (load !== otherLoad) return load < otherLoad;
  return one.batches.interactive + one.batches.bulk < other.batches.interactive + other.batches.bulk;
}

function isIdle({ batches }: EmbedderThread): boolean {
  return batches.interactive + batches.bulk === 0;
}

function idleTimer({ id }: EmbedderThread): string {
  return `embedder ${id} rests`;
}
