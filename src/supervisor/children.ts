// Children: one actor's children, in start order, and the supervision of them.
// H1 A child that ended is restarted, with the siblings that its supervisor's strategy names, or forgotten.
// H2 Siblings are stopped in reverse start order, one after the other, each within its `shutdownMs`; then it is killed.
//    One that is drained first has that time twice (see draining.ts).
// H3 More restarts than the intensity allows crash the owner: escalation. A lost thread counts once, however many of the
//    children lived on it.
// H4 Once the owner stops, nothing is started any more.
// H5 A child that is down belongs to at most one restart, which starts its children in order, each when the one before it
//    has started. A failure meanwhile begins a new restart that takes over what the old one has not started yet.
// H6 A child whose thread is being left is moved: a restart that begins with a drain, and is nobody's failure.

import type { Clock, Timer } from '../std/clock.ts';
import { errorText } from '../std/errors.ts';
import type { RandomSource } from '../std/ids.ts';
import type { Behaviour, ChildOptions, StopOptions, Supervision, TerminationReason } from './actor.ts';
import type { Cell, ParentHandle } from './cell.ts';
import type { Envelope } from './envelope.ts';
import type { Protocol } from './protocol.ts';
import { RestartBudget, restartedWith, SUPERVISION_DEFAULT, shouldRestart } from './supervision.ts';

/** A running incarnation of a child, here or on another thread. */
export interface ChildHandle {
  readonly actor: number;
  readonly thread: number;
  /** It has ended, as far as is known here; what is told of its end may be on its way yet. */
  readonly isTerminated?: boolean;
  stop(): void;
  /** Stops once what has come is done; behind the mail that its parent has sent it. */
  drain(): void;
  kill(): void;
}

export interface ChildSpec {
  // biome-ignore lint/suspicious/noExplicitAny: a list of children holds behaviours of many protocols.
  readonly behaviour: Behaviour<any, any>;
  readonly args: unknown;
  readonly options: ChildOptions;
}

/** `child(behaviour, args, options)`: a typed entry of a supervisor's list. */
export function child<P extends Protocol, Args>(
  behaviour: Behaviour<P, Args>,
  args: Args,
  options: ChildOptions,
): ChildSpec {
  return { behaviour, args, options };
}

/** Takes the mail that a child of this thread has not come to when it ends. */
export type Heir = (child: Cell, envelope: Envelope) => void;

/** Hears what becomes of the children, before anybody else does; a forwarding actor's way to know whom to send mail to. */
export interface ChildrenObserver {
  started(id: string, handle: ChildHandle): void;
  /** It is being stopped, or has ended: what it is sent from now on it may not take. */
  left(id: string): void;
  /** It will not be started again: its id is free. */
  forgotten(id: string): void;
}

export interface ChildrenOwner {
  readonly thread: number;
  readonly path: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  launch(spec: ChildSpec): ChildHandle;
  crash(message: string): void;
  restarted(): void;
  /** Runs it as a message of the owner. */
  signal(run: () => void): void;
}

export interface ChildView {
  readonly id: string;
  readonly actor: number | null;
  readonly restarts: number;
  readonly lastFailure: string | null;
}

/** A child that was started again, failed before, or is down at the moment. */
export interface ChildTrouble extends ChildView {
  /** Null while it waits to be started again. */
  readonly thread: number | null;
}

interface Child {
  readonly spec: ChildSpec;
  handle: ChildHandle | null;
  isStarted: boolean;
  /** Set while a stop is under way; the child is not restarted then by its own end. */
  stopping: Stopping | null;
  /** The restart that will start it again (H5); its end until then is part of that. */
  restart: object | null;
  /** Being stopped for good. */
  isDismissed: boolean;
  restarts: number;
  lastFailure: string | null;
}

interface Stopping {
  readonly done: Promise<void>;
  readonly resolve: () => void;
  isDraining: boolean;
  /** Ends the patience with it: with the drain, then with the child. Null for one that ended at once, as most do. */
  timer: Timer | null;
}

/** Long enough to flush and close; a child that needs longer says so in its options. */
export const SHUTDOWN_DEFAULT_MS = 5_000;

const PARENT_STOPS = 'its parent is stopping';

export class Children implements ParentHandle {
  readonly #owner: ChildrenOwner;
  /** Made once: as part of each child's path it is shared. */
  readonly #pathPrefix: string;
  /** In start order, which a restart does not change. */
  readonly #byId = new Map<string, Child>();
  readonly #startWaiters = new Map<string, { resolve: () => void; reject: (error: Error) => void }[]>();
  readonly #restartTimers = new Set<Timer>();
  observer: ChildrenObserver | null = null;
  heir: Heir | undefined = undefined;
  /** None needs another: they are stopped all at once, instead of one after the other (H2). */
  areIndependent = false;
  #supervision: Supervision = SUPERVISION_DEFAULT;
  #budget = new RestartBudget(SUPERVISION_DEFAULT);
  #isClosed = false;
  #isKilled = false;
  /** What is left is stopped without a drain, unless a child's own options ask for one. */
  #isHurried = true;
  /** The lost thread that was counted last. */
  #threadCounted: number | null = null;

  constructor(owner: ChildrenOwner) {
    this.#owner = owner;
    this.#pathPrefix = owner.path === '' ? '' : `${owner.path}/`;
  }

  get thread(): number {
    return this.#owner.thread;
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  supervise(supervision: Supervision): void {
    this.#supervision = supervision;
    this.#budget = new RestartBudget(supervision);
  }

  views(): ChildView[] {
    return Array.from(this.#byId.values(), ({ spec, handle, restarts, lastFailure }) => ({
      id: spec.options.id,
      actor: handle?.actor ?? null,
      restarts,
      lastFailure,
    }));
  }

  /** Null while it is down, being started or being stopped. */
  startedHandleOf(id: string): ChildHandle | null {
    const record = this.#byId.get(id);
    return record?.isStarted === true && record.stopping === null ? record.handle : null;
  }

  forEachTroubled(visit: (child: ChildTrouble) => void): void {
    for (const { spec, handle, restart, restarts, lastFailure } of this.#byId.values()) {
      if (handle === null ? restart === null : restarts === 0 && lastFailure === null) continue;
      const { actor = null, thread = null } = handle ?? {};
      visit({ id: spec.options.id, actor, thread, restarts, lastFailure });
    }
  }

  pathOf(id: string): string {
    return this.#pathPrefix + id;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  start(spec: ChildSpec): ChildHandle {
    const record: Child = {
      spec,
      handle: null,
      isStarted: false,
      stopping: null,
      restart: null,
      isDismissed: false,
      restarts: 0,
      lastFailure: null,
    };
    this.#byId.set(spec.options.id, record);
    try {
      return this.#launch(record);
    } catch (error) {
      this.#byId.delete(spec.options.id); // it could not be placed: its id is free
      throw error;
    }
  }

  /** Resolves when the child's setup is done; rejects when it ended for good before. */
  started(id: string): Promise<void> {
    const record = this.#byId.get(id);
    if (record === undefined) return Promise.reject(new Error(`child ${id} ended while it was starting`));
    if (this.#isClosed) return Promise.reject(new Error(PARENT_STOPS));
    if (record.isStarted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiters = this.#startWaiters.get(id) ?? [];
      waiters.push({ resolve, reject });
      this.#startWaiters.set(id, waiters);
    });
  }

  stop(id: string, options: StopOptions = {}): Promise<void> {
    const record = this.#byId.get(id);
    if (record === undefined) return Promise.resolve();
    record.isDismissed = true;
    return this.#stop(record, options).then(() => this.#forget(record));
  }

  childStarted(id: string, actor: number): void {
    this.#owner.signal(() => this.#onStarted(id, actor));
  }

  childEnded(id: string, actor: number, reason: TerminationReason): void {
    this.#owner.signal(() => this.#onEnded(id, actor, reason));
  }

  childRetiring(id: string, actor: number): void {
    this.#owner.signal(() => this.#onRetiring(id, actor));
  }

  #onStarted(id: string, actor: number): void {
    const record = this.#byId.get(id);
    if (record?.handle?.actor !== actor) return;
    record.isStarted = true;
    if (record.stopping === null) this.observer?.started(id, record.handle);
    for (const { resolve } of this.#takeWaiters(record)) resolve();
  }

  #onEnded(id: string, actor: number, reason: TerminationReason): void {
    const record = this.#byId.get(id);
    if (record?.handle?.actor !== actor) return;
    const { thread } = record.handle;
    record.handle = null;
    record.isStarted = false;
    this.observer?.left(id);
    if (reason.kind === 'crashed' || reason.kind === 'thread_lost') record.lastFailure = reason.message;
    if (record.stopping !== null) {
      record.stopping.timer?.cancel();
      record.stopping.resolve();
      record.stopping = null;
      return;
    }
    if (this.#isClosed || record.restart !== null) return;
    if (!shouldRestart(record.spec.options.restart ?? 'permanent', reason)) {
      this.#forget(record);
      return;
    }
    const isCounted = reason.kind === 'thread_lost' && this.#threadCounted === thread;
    if (reason.kind === 'thread_lost') this.#threadCounted = thread;
    if (isCounted || this.#budget.spend(this.#owner.clock.monotonicMs())) this.#restart(record);
    else this.#escalate(record);
  }

  /** H6. */
  #onRetiring(id: string, actor: number): void {
    const record = this.#byId.get(id);
    if (record?.handle?.actor !== actor || record.spec.options.restart === 'temporary') return;
    if (this.#isClosed || record.stopping !== null || record.restart !== null) return;
    this.#restartGroup(this.#groupOf(record), 0, { drain: true }).catch((error: unknown) =>
      this.#owner.crash(errorText(error)),
    );
  }

  /** H2, H4. */
  async stopAll({ drain = false }: StopOptions = {}): Promise<void> {
    this.#close();
    this.#isHurried = !drain;
    if (this.areIndependent) {
      await Promise.all(
        Array.from(this.#byId.values(), (record) => this.#stop(record, drain ? { drain } : {})),
      );
      return;
    }
    for (const record of [...this.#byId.values()].reverse()) {
      await this.#stop(record, this.#isHurried ? {} : { drain });
      if (this.#isKilled) return;
    }
  }

  /** A `stopAll` that drains becomes one that does not. */
  hurry(): void {
    if (this.#isHurried) return;
    this.#isHurried = true;
    for (const record of this.#byId.values()) this.#stopDraining(record);
  }

  killAll(): void {
    this.#close();
    this.#isKilled = true;
    for (const { stopping, handle } of [...this.#byId.values()].reverse()) {
      handle?.kill();
      // The end of a child elsewhere comes after the owner's own: nobody would take it.
      stopping?.timer?.cancel();
      stopping?.resolve();
    }
  }

  #close(): void {
    this.#isClosed = true;
    for (const timer of this.#restartTimers) timer.cancel();
    this.#restartTimers.clear();
    const waiters = [...this.#startWaiters.values()].flat();
    this.#startWaiters.clear();
    for (const { reject } of waiters) reject(new Error(PARENT_STOPS));
  }

  /** H3. */
  #escalate({ spec, lastFailure }: Child): void {
    const { restartsMax, withinMs } = this.#supervision.intensity;
    this.#owner.crash(
      `child ${spec.options.id} needed more than ${restartsMax} restarts within ${withinMs} ms; last failure: ${lastFailure}`,
    );
  }

  #restart(failed: Child): void {
    const group = this.#groupOf(failed);
    const delayMs = this.#budget.delayMs(this.#owner.random);
    if (group.length === 1 && delayMs === 0) {
      this.#relaunch(failed);
      return;
    }
    // What fails in a child arrives as `onEnded`; what fails here is a child that cannot be placed.
    this.#restartGroup(group, delayMs).catch((error: unknown) => this.#owner.crash(errorText(error)));
  }

  /** With those, in start order, that an earlier restart has not started yet (H5). */
  #groupOf(failed: Child): readonly Child[] {
    const { strategy } = this.#supervision;
    if (strategy === 'one_for_one') return [failed];
    const all = [...this.#byId.values()];
    const named = new Set(restartedWith(strategy, all.indexOf(failed), all.length));
    return all.filter((record, i) => (named.has(i) || record.restart !== null) && !record.isDismissed);
  }

  async #restartGroup(group: readonly Child[], delayMs: number, options: StopOptions = {}): Promise<void> {
    const restart = {};
    for (const record of group) record.restart = restart;
    for (const record of [...group].reverse()) {
      // Another restart may have taken it over, and started it again, while this one waited.
      if (record.restart === restart) await this.#stop(record, options);
    }
    if (delayMs > 0) await this.#delay(delayMs);
    for (const record of group) {
      if (this.#isClosed) return;
      if (record.restart !== restart || record.isDismissed) continue;
      record.restart = null;
      if (record.spec.options.restart === 'temporary') {
        this.#forget(record); // it went down with its siblings, and does not come back
        continue;
      }
      this.#relaunch(record);
      await this.started(record.spec.options.id).catch(() => undefined);
    }
  }

  #relaunch(record: Child): void {
    record.restarts += 1;
    this.#owner.restarted();
    this.#launch(record);
  }

  #launch(record: Child): ChildHandle {
    record.isStarted = false;
    const handle = this.#owner.launch(record.spec);
    // Even when its setup failed at once: its end comes as a signal, after this.
    record.handle = handle;
    return handle;
  }

  #stop(record: Child, { drain = record.spec.options.drain ?? false }: StopOptions = {}): Promise<void> {
    if (record.handle === null) return Promise.resolve();
    if (record.stopping !== null) {
      if (!drain) this.#stopDraining(record);
      return record.stopping.done;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const { handle } = record;
    const stopping: Stopping = { done: promise, resolve, isDraining: drain, timer: null };
    record.stopping = stopping;
    this.observer?.left(record.spec.options.id);
    if (drain) handle.drain();
    else handle.stop();
    if (record.stopping === stopping && handle.isTerminated !== true)
      stopping.timer = this.#patience(record, drain ? () => this.#stopDraining(record) : () => handle.kill());
    return promise;
  }

  /** A drain that takes too long, or nobody waits for any more, becomes a stop, which may take as long again. */
  #stopDraining(record: Child): void {
    const { handle, stopping } = record;
    if (handle === null || stopping?.isDraining !== true) return;
    stopping.isDraining = false;
    stopping.timer?.cancel();
    stopping.timer = this.#patience(record, () => handle.kill());
    handle.stop();
  }

  #patience({ spec }: Child, end: () => void): Timer {
    return this.#owner.clock.startTimer(spec.options.shutdownMs ?? SHUTDOWN_DEFAULT_MS, end);
  }

  #delay(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#owner.clock.startTimer(delayMs, () => {
        this.#restartTimers.delete(timer);
        resolve();
      });
      this.#restartTimers.add(timer);
    });
  }

  #forget(record: Child): void {
    this.#byId.delete(record.spec.options.id);
    this.observer?.forgotten(record.spec.options.id);
    for (const { reject } of this.#takeWaiters(record)) {
      reject(new Error(`child ${record.spec.options.id} ended while it was starting: ${record.lastFailure}`));
    }
  }

  #takeWaiters(record: Child): readonly { resolve: () => void; reject: (error: Error) => void }[] {
    const waiters = this.#startWaiters.get(record.spec.options.id) ?? [];
    this.#startWaiters.delete(record.spec.options.id);
    return waiters;
  }
}
