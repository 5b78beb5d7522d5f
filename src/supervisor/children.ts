// Children: one actor's children, in start order, and the supervision of them.
// H1 A child that ended is restarted, with the siblings that its supervisor's strategy names, or forgotten.
// H2 Siblings are stopped in reverse start order, one after the other, each within its `shutdownMs`; then it is killed.
// H3 More restarts than the intensity allows crash the owner: escalation.
// H4 Once the owner stops, nothing is started any more.

import type { Clock, Timer } from '../std/clock.ts';
import type { RandomSource } from '../std/ids.ts';
import type { Behaviour, ChildOptions, Supervision, TerminationReason } from './actor.ts';
import type { Protocol } from './protocol.ts';
import { RestartBudget, restartedWith, SUPERVISION_DEFAULT, shouldRestart } from './supervision.ts';

/** A running incarnation of a child, here or on another thread. */
export interface ChildHandle {
  readonly actor: number;
  readonly thread: number;
  stop(): void;
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

export interface ChildrenOwner {
  readonly clock: Clock;
  readonly random: RandomSource;
  launch(spec: ChildSpec): ChildHandle;
  crash(message: string): void;
}

export interface ChildView {
  readonly id: string;
  readonly actor: number | null;
  readonly restarts: number;
  readonly lastFailure: string | null;
}

interface Child {
  readonly spec: ChildSpec;
  handle: ChildHandle | null;
  isStarted: boolean;
  /** Set while a stop is under way; the child is not restarted then by its own end. */
  stopping: { readonly done: Promise<void>; readonly resolve: () => void; readonly killTimer: Timer } | null;
  restarts: number;
  lastFailure: string | null;
}

const SHUTDOWN_DEFAULT_MS = 5_000;

export class Children {
  readonly #owner: ChildrenOwner;
  /** In start order, which a restart does not change. */
  readonly #byId = new Map<string, Child>();
  readonly #byActor = new Map<number, Child>();
  readonly #startWaiters = new Map<string, { resolve: () => void; reject: (error: Error) => void }[]>();
  readonly #restartTimers = new Set<Timer>();
  #supervision: Supervision = SUPERVISION_DEFAULT;
  #budget = new RestartBudget(SUPERVISION_DEFAULT);
  #isClosed = false;

  constructor(owner: ChildrenOwner) {
    this.#owner = owner;
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

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  start(spec: ChildSpec): ChildHandle {
    const record: Child = { spec, handle: null, isStarted: false, stopping: null, restarts: 0, lastFailure: null };
    this.#byId.set(spec.options.id, record);
    return this.#launch(record);
  }

  /** Resolves when the child's setup is done; rejects when it ended for good before. */
  started(id: string): Promise<void> {
    const record = this.#byId.get(id);
    if (record === undefined) return Promise.reject(new Error(`child ${id} ended while it was starting`));
    if (record.isStarted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiters = this.#startWaiters.get(id) ?? [];
      waiters.push({ resolve, reject });
      this.#startWaiters.set(id, waiters);
    });
  }

  stop(id: string): Promise<void> {
    const record = this.#byId.get(id);
    if (record === undefined) return Promise.resolve();
    return this.#stop(record).then(() => this.#forget(record));
  }

  onStarted(actor: number): void {
    const record = this.#byActor.get(actor);
    if (record === undefined) return;
    record.isStarted = true;
    for (const { resolve } of this.#takeWaiters(record)) resolve();
  }

  onEnded(actor: number, reason: TerminationReason): void {
    const record = this.#byActor.get(actor);
    if (record === undefined) return;
    this.#byActor.delete(actor);
    record.handle = null;
    record.isStarted = false;
    if (reason.kind === 'crashed' || reason.kind === 'thread_lost') record.lastFailure = reason.message;
    if (record.stopping !== null) {
      record.stopping.killTimer.cancel();
      record.stopping.resolve();
      record.stopping = null;
      return;
    }
    if (this.#isClosed) return;
    if (!shouldRestart(record.spec.options.restart ?? 'permanent', reason)) {
      this.#forget(record);
      return;
    }
    this.#restart(record);
  }

  /** H2, H4. */
  async stopAll(): Promise<void> {
    this.#close();
    for (const record of [...this.#byId.values()].reverse()) await this.#stop(record);
  }

  killAll(): void {
    this.#close();
    for (const record of [...this.#byId.values()].reverse()) record.handle?.kill();
  }

  #close(): void {
    this.#isClosed = true;
    for (const timer of this.#restartTimers) timer.cancel();
    this.#restartTimers.clear();
  }

  #restart(failed: Child): void {
    if (!this.#budget.spend(this.#owner.clock.nowMs())) {
      const { restartsMax, withinMs } = this.#supervision.intensity;
      this.#owner.crash(
        `child ${failed.spec.options.id} needed more than ${restartsMax} restarts within ${withinMs} ms; last failure: ${failed.lastFailure}`,
      );
      return;
    }
    failed.restarts += 1;
    const group = this.#groupOf(failed);
    const delayMs = this.#budget.delayMs(this.#owner.random);
    if (group.length === 1 && delayMs === 0) {
      this.#launch(failed);
      return;
    }
    void this.#restartGroup(group, delayMs);
  }

  #groupOf(failed: Child): readonly Child[] {
    if (this.#supervision.strategy === 'one_for_one') return [failed];
    const all = [...this.#byId.values()];
    return restartedWith(this.#supervision.strategy, all.indexOf(failed), all.length).flatMap((i) => all[i] ?? []);
  }

  /** Never rejects: what fails in it is a child's failure and arrives as `onEnded`. */
  async #restartGroup(group: readonly Child[], delayMs: number): Promise<void> {
    for (const record of [...group].reverse()) await this.#stop(record);
    if (delayMs > 0) await this.#delay(delayMs);
    for (const record of group) {
      // A record that is alive again was restarted by a later failure in the group.
      if (this.#isClosed || record.handle !== null || this.#byId.get(record.spec.options.id) !== record) continue;
      this.#launch(record);
      await this.started(record.spec.options.id).catch(() => undefined);
    }
  }

  #launch(record: Child): ChildHandle {
    record.isStarted = false;
    const handle = this.#owner.launch(record.spec);
    // Even when its setup failed at once: its end comes as a signal, after this.
    record.handle = handle;
    this.#byActor.set(handle.actor, record);
    return handle;
  }

  #stop(record: Child): Promise<void> {
    if (record.handle === null) return Promise.resolve();
    if (record.stopping !== null) return record.stopping.done;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { handle } = record;
    const shutdownMs = record.spec.options.shutdownMs ?? SHUTDOWN_DEFAULT_MS;
    const killTimer = this.#owner.clock.startTimer(shutdownMs, () => handle.kill());
    record.stopping = { done: promise, resolve, killTimer };
    handle.stop();
    return promise;
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
