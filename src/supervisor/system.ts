// System: an actor system as its embedder sees it, on the main thread.
// Y1 One root supervisor. When it fails, the system has terminated: whoever embeds it decides what to do.
// Y2 `stop` ends the tree in reverse start order, then the threads, and leaves no timer, port or thread behind.

import { type Clock, systemClock, type Timer } from '../std/clock.ts';
import { type RandomSource, systemRandom } from '../std/ids.ts';
import { type Log, silentLog } from '../std/log.ts';
import type {
  Behaviour,
  ChildOptions,
  StopOptions,
  Supervision,
  TerminationReason,
  ThreadServices,
} from './actor.ts';
import type { Cell, ParentHandle } from './cell.ts';
import { type ChildSpec, child } from './children.ts';
import type { DeadLetter } from './dead-letters.ts';
import type { Introspection } from './introspection/contract.ts';
import { SystemIntrospection } from './introspection/introspection.ts';
import type { Address, Protocol, Ref } from './protocol.ts';
import { incarnationOf, typed } from './ref.ts';
import { type Counters, MAIN_THREAD, Runtime } from './runtime.ts';
import { type Executor, threadExecutor } from './scheduler.ts';
import { SUPERVISION_DEFAULT } from './supervision.ts';
import { supervisorActor } from './supervisor.ts';
import type { ThreadBootstrap } from './threads/bootstrap.ts';
import {
  THREAD_POOL_DEFAULTS,
  ThreadPool,
  type ThreadPoolOptions,
  type ThreadView,
} from './threads/thread-pool.ts';
import type { ThreadHealth } from './threads/wire.ts';

export interface ActorSystemOptions {
  readonly children?: readonly ChildSpec[];
  readonly supervision?: Partial<Supervision>;
  readonly services?: ThreadServices;
  readonly clock?: Clock;
  readonly random?: RandomSource;
  readonly log?: Log;
  /** For simulations; the event loop of this thread when absent. */
  readonly executor?: Executor;
  /** For simulations, which look into the kernel. */
  readonly onRuntime?: (runtime: Runtime) => void;
  /** Absent: everything runs on this thread, whatever the placements say. */
  readonly threads?: Partial<Omit<ThreadPoolOptions, 'bootstrap'>> & {
    readonly bootstrap?: Partial<ThreadBootstrap>;
  };
}

export interface ActorView {
  readonly path: string;
  readonly address: Address;
  readonly state: string;
  readonly mailboxLength: number;
  readonly handled: number;
  readonly restarts: number;
  readonly lastFailure: string | null;
  readonly ageMs: number;
}

export interface ActorSystem {
  /** Finds the registered actor at each use. */
  named<P extends Protocol>(protocol: P, name?: string): Ref<P>;
  refTo<P extends Protocol>(protocol: P, address: Address): Ref<P>;
  /** Starts a child of the root. */
  spawn<P extends Protocol, Args>(behaviour: Behaviour<P, Args>, args: Args, options: ChildOptions): Ref<P>;
  /** Resolves when the root's child has started; rejects when it ended for good before. */
  childStarted(id: string): Promise<void>;
  /** Stops a child of the root and resolves when it has ended. */
  stopChild(id: string, options?: StopOptions): Promise<void>;
  /** Calls back once when the actor has ended, at once when it already has. Returns an unwatch. */
  watch(target: Ref<Protocol> | Address, onTerminated: (reason: TerminationReason) => void): () => void;
  /** The actors of this thread. */
  actors(): readonly ActorView[];
  threads(): readonly ThreadView[];
  /** Of all threads, as far as the workers have reported (see ThreadView.health). */
  counters(): Readonly<Counters>;
  /** Mail that is not handled yet, of all threads, as above. */
  queued(): number;
  /** The newest of this thread; see `introspection` for those of all. */
  deadLetters(): readonly DeadLetter[];
  /** The tree, the threads and the dead letters of all threads; one actor's state, suspension and trace. */
  readonly introspection: Introspection;
  /** Kills a worker thread, as a crash would. */
  terminateThread(thread: number): Promise<void>;
  /** Resolves when the root has ended: after `stop`, or because it failed. */
  readonly terminated: Promise<TerminationReason>;
  /**
   * Ends the tree, then the threads. With `drainMs` every actor is drained before it is stopped (see StopOptions); what is
   * not done by then is stopped as usual. A stop without it during a drain ends the patience at once.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
}

const THREADS_STOP_MS = 3_000;

/** Resolves when every child has started, in order. @throws what kept one of them from starting. */
export async function createActorSystem(options: ActorSystemOptions = {}): Promise<ActorSystem> {
  const runtime = new Runtime({
    thread: MAIN_THREAD,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    log: options.log ?? silentLog,
    services: options.services ?? ({} as ThreadServices),
    executor: options.executor ?? threadExecutor,
  });
  options.onRuntime?.(runtime);
  const pool = options.threads === undefined ? null : new ThreadPool(runtime, poolOptions(options.threads));
  const introspection = new SystemIntrospection(runtime, () => pool?.views() ?? []);
  runtime.introspection = introspection;
  const root = startRoot(runtime, options);
  let stopped: Promise<void> | null = null;
  let drainTimer: Timer | null = null;
  const stopAll = async (): Promise<void> => {
    await root.ended;
    drainTimer?.cancel();
    await pool?.stop(THREADS_STOP_MS);
    runtime.closeInspector();
    runtime.deadlines.close();
  };
  const stop = ({ drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> => {
    if (drainMs <= 0) root.cell.stop();
    else if (stopped === null) {
      root.cell.drain();
      drainTimer = runtime.clock.startTimer(drainMs, () => root.cell.stop());
    }
    stopped ??= stopAll();
    return stopped;
  };
  try {
    await root.started;
  } catch (error) {
    await stop();
    throw error;
  }
  const healths = (): ThreadHealth[] => pool?.views().flatMap(({ health }) => health ?? []) ?? [];
  return {
    named: (protocol, name = protocol.name) => typed(runtime.named(name, null)),
    refTo: (_protocol, address) => typed(runtime.refTo(address, null)),
    spawn: (behaviour, args, childOptions) =>
      typed(root.cell.spawn({ behaviour, args, options: childOptions }, null)),
    childStarted: (id) => root.cell.children.started(id),
    stopChild: (id, stopOptions) => root.cell.children.stop(id, stopOptions),
    // Told after the kernel is done with it: what the embedder's callback throws is the embedder's own.
    watch: (target, onTerminated) =>
      runtime.watch(incarnationOf(target), (reason) => queueMicrotask(() => onTerminated(reason))),
    actors: () => actorViews(runtime),
    threads: () => pool?.views() ?? [],
    counters: () => countersOf([runtime.counters, ...healths().map((health) => health.counters)]),
    queued: () => healths().reduce((sum, health) => sum + health.queued, runtime.queued()),
    deadLetters: () => runtime.deadLetters.recent(),
    introspection,
    terminateThread: async (thread) => pool?.terminate(thread),
    terminated: root.ended,
    stop,
  };
}

function poolOptions(threads: NonNullable<ActorSystemOptions['threads']>): ThreadPoolOptions {
  return {
    ...THREAD_POOL_DEFAULTS,
    ...threads,
    bootstrap: { module: null, data: null, preload: [], logLevel: 'silent', ...threads.bootstrap },
  };
}

function startRoot(
  runtime: Runtime,
  options: ActorSystemOptions,
): { readonly cell: Cell; readonly started: Promise<void>; readonly ended: Promise<TerminationReason> } {
  const start = Promise.withResolvers<void>();
  const end = Promise.withResolvers<TerminationReason>();
  const parent: ParentHandle = {
    thread: MAIN_THREAD,
    childStarted: () => start.resolve(),
    childEnded: (_id, _actor, reason) => {
      start.reject(new Error(reason.kind === 'crashed' ? reason.message : `the root was ${reason.kind}`));
      end.resolve(reason);
    },
  };
  // The start's failure is also told through `ended`; whoever only waits for that must not see it as unhandled.
  start.promise.catch(() => undefined);
  const supervision = { ...SUPERVISION_DEFAULT, ...options.supervision };
  const spec = child(supervisorActor, { supervision, children: options.children ?? [] }, { id: '' });
  return { cell: runtime.startCell(spec, 0, '', parent), started: start.promise, ended: end.promise };
}

function countersOf(parts: readonly Counters[]): Counters {
  const sums = { sent: 0, handled: 0, rejected: 0, deadLettered: 0, restarts: 0 };
  for (const part of parts) {
    sums.sent += part.sent;
    sums.handled += part.handled;
    sums.rejected += part.rejected;
    sums.deadLettered += part.deadLettered;
    sums.restarts += part.restarts;
  }
  return sums;
}

function actorViews(runtime: Runtime): ActorView[] {
  const nowMs = runtime.clock.nowMs();
  const records = new Map(
    [...runtime.cells.values()].flatMap((cell) =>
      cell.childViews().map((view) => [view.actor, view] as const),
    ),
  );
  return Array.from(runtime.cells.values(), (cell) => ({
    path: cell.path,
    address: cell.address,
    state: cell.state,
    mailboxLength: cell.mailboxLength,
    handled: cell.handled,
    restarts: records.get(cell.actor)?.restarts ?? 0,
    lastFailure: records.get(cell.actor)?.lastFailure ?? null,
    ageMs: nowMs - cell.startedAtMs,
  }));
}
