// Context: the author's view of a cell (see actor.ts for what each member promises).

import type { Clock, Timer } from '../std/clock.ts';
import type { RandomSource } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type {
  ActorContext,
  Behaviour,
  ChildOptions,
  StopOptions,
  Supervision,
  Terminated,
  TerminationReason,
  ThreadServices,
  TimerOptions,
} from './actor.ts';
import type { Cell } from './cell.ts';
import type { Introspection } from './introspection/contract.ts';
import type {
  Address,
  AskOptions,
  CallsOf,
  Protocol,
  Ref,
  ReplyFrom,
  RequestTo,
  StreamsOf,
  TellsOf,
} from './protocol.ts';
import { ReceiveTimeout } from './receive-timeout.ts';
import { ActorRef, addressOf, incarnationOf, typed } from './ref.ts';
import { SET_ASIDE } from './stash.ts';

export class Context<P extends Protocol> implements ActorContext<P> {
  readonly #cell: Cell;
  #self: Ref<P> | null = null;
  #log: Log | null = null;
  #timers: Map<string, Timer> | null = null;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  get path(): string {
    return this.#cell.path;
  }

  get address(): Address {
    return this.#cell.address;
  }

  get self(): Ref<P> {
    this.#self ??= typed<P>(new ActorRef(this.#cell, this.#cell.runtime.deadlines, this.#cell));
    return this.#self;
  }

  get clock(): Clock {
    return this.#cell.runtime.clock;
  }

  get random(): RandomSource {
    return this.#cell.runtime.random;
  }

  get log(): Log {
    const log = this.#log ?? this.#cell.runtime.log.child({ actor: this.#cell.path });
    this.#log = log;
    return log;
  }

  get signal(): AbortSignal {
    return this.#cell.signal;
  }

  get services(): ThreadServices {
    return this.#cell.runtime.services;
  }

  get introspection(): Introspection {
    const { introspection } = this.#cell.runtime;
    if (introspection === null)
      throw new Error(`${this.path} is not on the main thread: it cannot look at the system`);
    return introspection;
  }

  exposeState(expose: () => unknown): void {
    this.#cell.runtime.exposed.set(this.#cell, expose);
  }

  supervise(supervision: Supervision): void {
    this.#cell.children.supervise(supervision);
  }

  spawn<Q extends Protocol, Args>(behaviour: Behaviour<Q, Args>, args: Args, options: ChildOptions): Ref<Q> {
    return typed<Q>(this.#cell.spawn({ behaviour, args, options }, this.#cell));
  }

  childStarted(id: string): Promise<void> {
    return this.#cell.children.started(id);
  }

  stopChild(id: string, options?: StopOptions): Promise<void> {
    return this.#cell.children.stop(id, options);
  }

  stopSelf(): void {
    this.#cell.signalNow(() => this.#cell.stop());
  }

  refTo<Q extends Protocol>(_protocol: Q, address: Address): Ref<Q> {
    return typed<Q>(this.#cell.runtime.refTo(address, this.#cell));
  }

  named<Q extends Protocol>(protocol: Q, name: string = protocol.name): Ref<Q> {
    return typed<Q>(this.#cell.runtime.named(name, this.#cell));
  }

  ask<Q extends Protocol, Name extends CallsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
    options?: AskOptions,
  ): Promise<ReplyFrom<Q, Name>> {
    return this.named(protocol).ask(name, message, options);
  }

  tell<Q extends Protocol, Name extends TellsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
  ): boolean {
    return this.named(protocol).tell(name, message);
  }

  stream<Q extends Protocol, Name extends StreamsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterableIterator<ReplyFrom<Q, Name>> {
    return this.named(protocol).stream(name, message, options);
  }

  watch(target: Ref<Protocol> | Address, onTerminated: (terminated: Terminated) => void): () => void {
    const address = incarnationOf(target);
    if (this.#cell.isEnding) return () => undefined;
    let isOpen = true;
    let unwatch = (): void => undefined;
    const forget = this.#cell.whenEnding(() => unwatch());
    // A target that has ended already is reported at once, before there is anything to take back.
    unwatch = this.#cell.runtime.watch(address, (reason) => {
      forget();
      this.#signal(() => {
        if (isOpen) onTerminated({ address: addressOf(target) ?? address, reason });
      });
    });
    return () => {
      isOpen = false;
      forget();
      unwatch();
    };
  }

  link(target: Ref<Protocol> | Address): () => void {
    const address = incarnationOf(target);
    const cell = this.#cell;
    if (cell.isEnding) return () => undefined;
    cell.runtime.links.link(cell, address);
    return () => cell.runtime.links.unlink(cell, address);
  }

  pipe<T>(work: Promise<T>, onDone: (value: T) => void, onFailed?: (error: unknown) => void): void {
    this.#cell.openWork += 1;
    work.then(
      (value) =>
        this.#signal(() => {
          this.#cell.workDone();
          onDone(value);
        }),
      (error: unknown) =>
        this.#signal(() => {
          this.#cell.workDone();
          if (onFailed === undefined) this.#cell.crash(error);
          else onFailed(error);
        }),
    );
  }

  background(work: Promise<unknown>): void {
    this.#cell.openWork += 1;
    work.then(
      () => {
        this.#cell.workDone();
      },
      (error: unknown) => this.#signal(() => this.#cell.crash(error)),
    );
  }

  after(key: string, delayMs: number, fire: () => void, { holds = false }: TimerOptions = {}): () => void {
    if (this.#cell.isEnding) return () => undefined;
    const timers = this.#timerMap();
    timers.get(key)?.cancel();
    const started = this.clock.startTimer(delayMs, () =>
      this.#signal(() => {
        // Replaced or cancelled between its firing and this signal: then it must not run.
        if (timers.get(key) !== timer) return;
        timers.delete(key);
        timer.cancel();
        fire();
      }),
    );
    const timer = holds ? releasing(started, this.hold()) : started;
    timers.set(key, timer);
    return () => {
      timer.cancel();
      if (timers.get(key) === timer) timers.delete(key);
    };
  }

  every(key: string, intervalMs: number, fire: () => void): () => void {
    const again = (): void => {
      cancel = this.after(key, intervalMs, again);
      fire();
    };
    let cancel = this.after(key, intervalMs, again);
    return () => cancel();
  }

  receiveTimeout(idleMs: number, fire: () => void): () => void {
    if (this.#cell.isEnding) return () => undefined;
    this.#cell.receiveTimeout?.cancel();
    const timeout = new ReceiveTimeout(this.#cell, idleMs, () => this.#signal(fire));
    this.#cell.receiveTimeout = timeout;
    return () => timeout.cancel();
  }

  stash(): never {
    this.#cell.stash();
    throw SET_ASIDE;
  }

  unstashAll(): void {
    this.#cell.unstashAll();
  }

  hold(): () => void {
    let isHeld = true;
    this.#cell.openWork += 1;
    return () => {
      if (isHeld) this.#cell.workDone();
      isHeld = false;
    };
  }

  onRetire(tell: () => void): void {
    const { retireHooks } = this.#cell.runtime;
    const hook = (): void => this.#signal(tell);
    retireHooks.add(hook);
    this.#cell.whenEnding(() => retireHooks.delete(hook));
  }

  onStop(clean: (reason: TerminationReason) => void | Promise<void>): void {
    this.#cell.onStop(clean);
  }

  /** A5: what was queued before the end began does not run after it. */
  #signal(run: () => void): void {
    this.#cell.signalNow(() => {
      if (!this.#cell.isEnding) run();
    });
  }

  #timerMap(): Map<string, Timer> {
    if (this.#timers === null) {
      const timers = new Map<string, Timer>();
      this.#timers = timers;
      this.#cell.whenEnding(() => {
        for (const timer of timers.values()) timer.cancel();
        timers.clear();
      });
    }
    return this.#timers;
  }
}

function releasing(timer: Timer, release: () => void): Timer {
  return {
    cancel: () => {
      timer.cancel();
      release();
    },
  };
}
