// Introspection: what can be seen of a running system, and done to one of its actors, as plain data. Owned by the kernel;
// its embedder (`system.introspection`) and actors on the main thread (`context.introspection`) use it.
// U1 Every answer is bounded: so many actors listed a thread and a count of the rest, so many events held for a slow reader.
// U2 Nobody is waited for: a thread that does not answer in time is reported as silent, with what it last said.
// U3 Names and numbers only. No message's content is shown, and of an actor's state what its author exposes.
// U4 It costs nothing while nobody looks.

import { declareFaults } from '../../std/errors.ts';
import type { DeadLetter } from '../dead-letters.ts';
import type { Address } from '../protocol.ts';
import type { Counters } from '../runtime.ts';

export const introspectionFaults = declareFaults({
  /** No living actor of that path or address. */
  actor_not_found: 'not_found',
  /** It is still starting, or stopping already. */
  actor_not_running: 'not_allowed',
  /** Its author has not called `context.exposeState`. */
  state_not_exposed: 'not_allowed',
  /** What its author exposes threw, or is not plain data. */
  state_unreadable: 'internal',
});

export type ActorState = 'starting' | 'running' | 'suspended' | 'draining' | 'stopping' | 'restarting';

export interface ActorReport {
  readonly path: string;
  readonly thread: number;
  /** Null for a child that waits to be started again. */
  readonly address: Address | null;
  readonly state: ActorState;
  readonly mailboxLength: number;
  /** By this incarnation. */
  readonly handled: number;
  readonly restarts: number;
  /** Why the incarnation before it ended; at most FAILURE_CHARS_MAX. */
  readonly lastFailure: string | null;
  readonly ageMs: number;
}

export interface ThreadReport {
  readonly thread: number;
  /** `edge` for the main thread; null for a spare. */
  readonly name: string | null;
  /** `silent`: it did not answer in time, and what follows is what it last said. */
  readonly state: 'starting' | 'ready' | 'retiring' | 'leaving' | 'silent';
  readonly actors: number | null;
  readonly queued: number | null;
  readonly heapUsedBytes: number | null;
  /** How late its event loop was at worst lately; null before that is known. */
  readonly loopLagMs: number | null;
}

export interface SystemTotals extends Readonly<Counters> {
  readonly actors: number;
  /** Mail that is not handled yet. */
  readonly queued: number;
}

export interface SystemSnapshot {
  readonly atMs: number;
  readonly totals: SystemTotals;
  readonly threads: readonly ThreadReport[];
  /** By path, so that an actor follows its parent. */
  readonly actors: readonly ActorReport[];
  /** How many more there are on the threads that answered (U1). */
  readonly actorsOmitted: number;
}

export interface DeadLetterReport extends DeadLetter {
  readonly thread: number;
}

export interface TraceEvent {
  readonly atMs: number;
  readonly name: string;
  readonly kind: 'tell' | 'call' | 'stream';
  /** Until the handler's result was there; of a stream, until it was opened. */
  readonly durationMs: number;
  readonly outcome: 'handled' | 'opened' | 'fault' | 'abandoned' | 'crashed';
}

/** What gathered since the last batch; `missed` were given up for a slow reader (U1). */
export interface Batch<Item> {
  readonly items: readonly Item[];
  readonly missed: number;
}

export interface SnapshotOptions {
  /** Actors listed a thread: the oldest, which are the supervisors, and the busiest. */
  readonly actorsMax?: number;
  /** How long a thread may take to answer (U2). */
  readonly withinMs?: number;
}

export interface DeadLettersOptions {
  /** Begins with those that are still kept since then; from now on when absent. */
  readonly sinceMs?: number;
}

export interface Introspection {
  snapshot(options?: SnapshotOptions): Promise<SystemSnapshot>;
  /** Of all threads, those that are started later too. `return()` ends it. */
  deadLetters(options?: DeadLettersOptions): AsyncIterableIterator<Batch<DeadLetterReport>>;
  /** A copy of what the author exposes. @throws {Fault} actor_not_found, state_not_exposed, state_unreadable */
  getState(actor: Address | string): Promise<unknown>;
  /**
   * Its mail waits, within its mailbox's bound; signals (stops, timers, ends of children) are still obeyed. This incarnation
   * only. What an actor passes on to others (a router does) never was its own mail, and goes on.
   */
  suspend(actor: Address | string): Promise<void>;
  resume(actor: Address | string): Promise<void>;
  /** Each message that it handles from now on; ends with the actor. `return()` ends it sooner. */
  trace(actor: Address | string): AsyncIterableIterator<Batch<TraceEvent>>;
}

export const ACTORS_LISTED_MAX = 500;
/** A turn of a healthy thread takes milliseconds; a snapshot is asked for about once a second. */
export const SILENT_AFTER_MS = 500;
export const FAILURE_CHARS_MAX = 500;
