// Cell: one incarnation of an actor. It owns the mailbox, the lifecycle and everything that dies with the incarnation.
// L1 starting -> running <-> suspended -> stopping -> terminated, otherwise never back; a restart is a new cell.
// L2 Signals (ends of children and of watched actors, timers, piped results, stop) have a lane of their own that is
//    served before mail and has no bound: each is the answer to something this actor itself set going.
// L3 When it stops, its mail is refused, the asks that it works on fail and the asks that it made are cancelled, its children
//    end in reverse order, a setup that is still under way settles, its stop hooks run, then every watcher is told once.
// L4 A kill skips what L3 waits for. A setup and hooks that outlast `shutdownMs` are a kill too, whoever stopped the cell.

import type { Timer } from '../std/clock.ts';
import { errorText } from '../std/errors.ts';
import type { Behaviour, ChildOptions, Forwards, Handlers, TerminationReason } from './actor.ts';
import {
  type ChildHandle,
  Children,
  type ChildrenOwner,
  type ChildSpec,
  type ChildTrouble,
  type Heir,
  SHUTDOWN_DEFAULT_MS,
} from './children.ts';
import { Context } from './context.ts';
import type { Refusal } from './dead-letters.ts';
import { deliver } from './delivery.ts';
import { DrainingDoor } from './draining.ts';
import type { Envelope, Owner } from './envelope.ts';
import { CLOSED, type Door, Forwarding, MARK } from './forwarding.ts';
import type { HandlerTable } from './introspection/tracer.ts';
import { MAILBOX_DEFAULT, Mailbox } from './mailbox.ts';
import type { Address, Protocol } from './protocol.ts';
import type { ReceiveTimeout } from './receive-timeout.ts';
import type { ActorRef, Target } from './ref.ts';
import type { Runtime } from './runtime.ts';
import type { Runnable } from './scheduler.ts';

/** Whom a cell tells about its own life; on this thread or on another. */
export interface ParentHandle {
  readonly thread: number;
  childStarted(id: string, actor: number): void;
  childEnded(id: string, actor: number, reason: TerminationReason): void;
  /** Its thread is being left: it is to be moved. */
  childRetiring?(id: string, actor: number): void;
  /** Takes the mail that an ending child has not come to; it is refused when there is no heir. */
  readonly heir?: Heir | undefined;
}

type State =
  | { readonly kind: 'starting' }
  | { readonly kind: 'running' }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'stopping'; readonly reason: TerminationReason }
  | { readonly kind: 'terminated'; readonly reason: TerminationReason };

type StopHook = (reason: TerminationReason) => void | Promise<void>;

const NO_HANDLERS: HandlerTable = {};
const STARTING: State = { kind: 'starting' };
const RUNNING: State = { kind: 'running' };
const SUSPENDED: State = { kind: 'suspended' };
const SIGNALS = { lengthMax: Number.POSITIVE_INFINITY, whenFull: 'reject' } as const;
/** In place of a box until there is something to put into it: most actors wait most of the time, and should be small. */
const EMPTY = new Mailbox<never>(SIGNALS);

export class Cell implements Runnable, Target, ChildHandle, Owner {
  readonly runtime: Runtime;
  readonly actor: number;
  readonly path: string;
  readonly options: ChildOptions;
  readonly parent: ParentHandle;
  isScheduled = false;
  handled = 0;
  /** The name that it is registered under; set by the runtime. */
  name: string | null = null;
  /** Set by the context, cancelled at the end; null for most. */
  receiveTimeout: ReceiveTimeout | null = null;
  /** Calls that are being answered, and other work that was set going and is not done. */
  openWork = 0;
  /** Since the runtime began: a small integer, where a timestamp would be an object of its own. */
  readonly #startedAfterMs: number;
  #state = STARTING;
  #handlers = NO_HANDLERS;
  #lifetime: AbortController | null = null;
  #children: Children | null = null;
  /** Takes the mail instead of the mailbox: that of a forwarding actor, and that of a cell that ends (see forwarding.ts). */
  #door: Door | null = null;
  /** Settled when an asynchronous setup has; null when there is none under way. */
  #setup: Promise<void> | null = null;
  #stopHooks: StopHook[] | null = null;
  #killTimer: Timer | null = null;
  #watchers: Set<(reason: TerminationReason) => void> | null = null;
  #ending: Set<() => void> | null = null;
  #mailbox: Mailbox<Envelope> = EMPTY;
  /** Mail that was set aside; null until there is some. */
  #stash: Mailbox<Envelope> | null = null;
  #signals: Mailbox<() => void> = EMPTY;

  constructor(runtime: Runtime, actor: number, path: string, options: ChildOptions, parent: ParentHandle) {
    this.runtime = runtime;
    this.actor = actor;
    this.path = path;
    this.options = options;
    this.parent = parent;
    this.#startedAfterMs = runtime.clock.nowMs() - runtime.startedAtMs;
  }

  get thread(): number {
    return this.runtime.thread;
  }

  get startedAtMs(): number {
    return this.runtime.startedAtMs + this.#startedAfterMs;
  }

  get address(): Address {
    return { thread: this.runtime.thread, actor: this.actor, path: this.path };
  }

  get state(): State['kind'] | 'draining' {
    return this.#isDraining && this.#state.kind === 'running' ? 'draining' : this.#state.kind;
  }

  get #isDraining(): boolean {
    return this.#door instanceof DrainingDoor;
  }

  /** Of what is not handled yet, the stash included. */
  get mailboxLength(): number {
    return this.#mailbox.length + (this.#stash?.length ?? 0) + (this.#door?.heldLength ?? 0);
  }

  get hasMail(): boolean {
    return this.#mailbox.length > 0;
  }

  get isEnding(): boolean {
    return this.#state.kind === 'stopping' || this.#state.kind === 'terminated';
  }

  get isTerminated(): boolean {
    return this.#state.kind === 'terminated';
  }

  /** Aborted as soon as the cell begins to stop. */
  get signal(): AbortSignal {
    this.#lifetime ??= new AbortController();
    if (this.isEnding && !this.#lifetime.signal.aborted) this.#lifetime.abort();
    return this.#lifetime.signal;
  }

  get children(): Children {
    this.#children ??= new Children(this.#owner());
    return this.#children;
  }

  forEachTroubledChild(visit: (child: ChildTrouble) => void): void {
    this.#children?.forEachTroubled(visit);
  }

  childViews(): ReturnType<Children['views']> {
    return this.#children?.views() ?? [];
  }

  /** Starts a child; what is asked through the ref belongs to `owner`. */
  spawn(spec: ChildSpec, owner: Owner | null): ActorRef {
    const { id } = spec.options;
    if (this.children.has(id)) throw new Error(`${this.path} has a child ${id} already`);
    if (this.isEnding) throw new Error(`${this.path} is stopping and starts no more children`);
    return this.runtime.refOfChild(this.children.start(spec), id, this, owner);
  }

  // ---- Life

  // biome-ignore lint/suspicious/noExplicitAny: a cell runs behaviours of any protocol.
  start(behaviour: Behaviour<any, any>, args: unknown): void {
    try {
      const handlers = behaviour.setup(new Context(this), args);
      if (!(handlers instanceof Promise)) {
        this.#run(handlers);
        return;
      }
      this.#setup = handlers.then(
        (ready) => this.signalNow(() => this.#run(ready)),
        (error: unknown) => this.signalNow(() => this.crash(error)),
      );
      void this.#setup.then(() => {
        this.#setup = null;
      });
    } catch (error) {
      this.crash(error);
    }
  }

  /** A cell that is stopping gives its children no more time to drain. */
  stop(): void {
    if (this.#state.kind === 'stopping') this.#children?.hurry();
    else this.#end({ kind: 'stopped' });
  }

  /** Stops once everything that has come is done (see draining.ts). */
  drain(): void {
    if (this.isEnding || this.#isDraining) return;
    this.#door = new DrainingDoor(this.#door);
    this.runtime.scheduler.schedule(this);
  }

  /** A piece of open work is done. */
  workDone(): void {
    this.openWork -= 1;
    if (this.openWork === 0 && this.#isDraining) this.runtime.scheduler.schedule(this);
  }

  kill(): void {
    if (this.#state.kind === 'terminated') return;
    const why = this.#state.kind === 'stopping' ? this.#state.reason : null;
    const reason: TerminationReason = why?.kind === 'crashed' ? why : { kind: 'killed' };
    this.#close(reason);
    this.#children?.killAll();
    this.#terminate(reason);
  }

  crash(error: unknown): void {
    if (this.isEnding) return;
    const message = errorText(error);
    const fields = {
      actor: this.path,
      /** Made when it is written: an actor that crashes often should not pay for lines that nobody asked for. */
      get error() {
        return error instanceof Error ? (error.stack ?? message) : message;
      },
    };
    this.runtime.log.error(fields, 'actor crashed');
    this.#end({ kind: 'crashed', message });
  }

  /** Mail waits from now on; signals do not. False when it is not running. */
  suspend(): boolean {
    if (this.#state.kind === 'running') this.#state = SUSPENDED;
    return this.#state.kind === 'suspended';
  }

  resume(): boolean {
    if (this.#state.kind === 'suspended') {
      this.#state = RUNNING;
      // Also without mail: what is being drained may have nothing left to do but to stop.
      this.runtime.scheduler.schedule(this);
    }
    return this.#state.kind === 'running';
  }

  /** Replaces its handlers, as a trace does. False when it has none. */
  interpose(change: (current: HandlerTable) => HandlerTable): boolean {
    if (this.#state.kind !== 'running' && this.#state.kind !== 'suspended') return false;
    this.#handlers = change(this.#handlers);
    return true;
  }

  onStop(clean: StopHook): void {
    if (this.#state.kind === 'terminated') {
      // Work that went on after the end opened something: it is closed at once, unless nothing is to be closed in order.
      if (this.#state.reason.kind !== 'killed') void this.#runHook(clean, this.#state.reason);
      return;
    }
    this.#stopHooks ??= [];
    this.#stopHooks.push(clean);
  }

  /** Runs synchronously when the cell begins to end, at once when it is ending already; returns a way to take it back. */
  whenEnding(clean: () => void): () => void {
    if (this.isEnding) {
      clean();
      return () => undefined;
    }
    this.#ending ??= new Set();
    this.#ending.add(clean);
    return () => this.#ending?.delete(clean);
  }

  /** Calls back once when this incarnation has terminated; at once when it has already. */
  addWatcher(onTerminated: (reason: TerminationReason) => void): () => void {
    if (this.#state.kind === 'terminated') {
      onTerminated(this.#state.reason);
      return () => undefined;
    }
    this.#watchers ??= new Set();
    this.#watchers.add(onTerminated);
    return () => this.#watchers?.delete(onTerminated);
  }

  // ---- Mail

  post(envelope: Envelope): boolean {
    if (this.#door !== null) return this.#door.take(this, envelope);
    return this.receive(envelope);
  }

  /** Puts it into this cell's own mailbox, or refuses it. */
  receive(envelope: Envelope): boolean {
    this.runtime.counters.sent += 1;
    if (this.#mailbox === EMPTY) this.#mailbox = this.#newBox();
    if (!this.#admit(this.#mailbox, envelope)) return false;
    this.runtime.scheduler.schedule(this);
    return true;
  }

  /** Refuses what was posted to this cell; false, as the answer of `post`. */
  refuse(envelope: Envelope, refusal: Refusal): false {
    this.runtime.counters.sent += 1;
    this.runtime.refuse(this.path, envelope, refusal);
    return false;
  }

  #newBox(): Mailbox<Envelope> {
    return new Mailbox(this.options.mailbox ?? MAILBOX_DEFAULT);
  }

  #admit(box: Mailbox<Envelope>, envelope: Envelope): boolean {
    if (box.isFull) {
      if (box.policy.whenFull === 'reject') {
        this.runtime.refuse(this.path, envelope, 'mailbox_full');
        return false;
      }
      const oldest = box.shift();
      if (oldest !== undefined) this.runtime.refuse(this.path, oldest, 'dropped_oldest');
    }
    box.push(envelope);
    return true;
  }

  /** Sets the message that is being handled aside, or refuses it when the stash is full (see ActorContext.stash). */
  stash(): void {
    const envelope = this.runtime.handling;
    if (envelope === null) throw new Error(`${this.path} is handling no message that could be set aside`);
    if (envelope.kind === 'stream') throw new Error('a stream cannot be set aside: its credit is being used');
    this.runtime.handling = null;
    // It is not handled after all.
    this.handled -= 1;
    this.runtime.counters.handled -= 1;
    this.receiveTimeout?.touch();
    if (this.isEnding) {
      this.runtime.refuse(this.path, envelope, 'terminated');
      return;
    }
    this.#stash ??= this.#newBox();
    this.#admit(this.#stash, envelope);
  }

  unstashAll(): void {
    for (let envelope = this.#stash?.pop(); envelope !== undefined; envelope = this.#stash?.pop())
      this.#mailbox.unshift(envelope);
    if (this.hasWork) this.runtime.scheduler.schedule(this);
  }

  /** Queues a signal (L2); nothing happens once the cell has terminated. */
  signalNow(run: () => void): void {
    if (this.#state.kind === 'terminated') return;
    if (this.#signals === EMPTY) this.#signals = new Mailbox(SIGNALS);
    this.#signals.push(run);
    this.runtime.scheduler.schedule(this);
  }

  get hasWork(): boolean {
    return this.#signals.length > 0 || (this.#state.kind === 'running' && this.#mailbox.length > 0);
  }

  runSlice(messagesMax: number): number {
    let count = 0;
    while (count < messagesMax) {
      const signal = this.#signals.shift();
      if (signal !== undefined) this.#guard(signal);
      else if (this.#state.kind === 'running') {
        const envelope = this.#mailbox.shift();
        if (envelope === undefined) break;
        this.#handle(envelope);
      } else break;
      count += 1;
    }
    this.receiveTimeout?.noteHandled(this.handled);
    this.runtime.handling = null;
    if (this.#door !== null) this.#stopIfDrained();
    return count;
  }

  #stopIfDrained(): void {
    if (this.state !== 'draining' || this.openWork > 0 || this.hasWork || this.#door?.heldLength !== 0)
      return;
    this.#end({ kind: 'stopped' }, true);
  }

  #handle(envelope: Envelope): void {
    const handler = this.#handlers[envelope.name];
    if (handler === undefined) {
      if (envelope.kind === 'call' && envelope.name === MARK) {
        this.runtime.counters.handled += 1;
        envelope.asker.reply(true);
        envelope.origin?.settled();
        return;
      }
      // The sender's mistake, which must not cost this actor its state and its other mail.
      this.runtime.log.warn(
        { actor: this.path, message: envelope.name },
        'an actor was sent what it does not understand',
      );
      this.runtime.refuse(this.path, envelope, 'not_understood');
      return;
    }
    this.handled += 1;
    this.runtime.counters.handled += 1;
    this.runtime.handling = envelope;
    deliver(this, handler, envelope);
    // Null when it was set aside, or refused in the attempt.
    if (this.runtime.handling !== null) envelope.origin?.settled();
  }

  #guard(run: () => void): void {
    this.runtime.handling = null;
    try {
      run();
    } catch (error) {
      this.crash(error);
    }
  }

  #run(handlers: Handlers<Protocol> | Forwards): void {
    if (this.#state.kind !== 'starting') return;
    if (typeof handlers !== 'object') throw new Error(`the setup of ${this.path} returned no handlers`);
    const isForwarding = handlers instanceof Forwarding;
    this.#handlers = (isForwarding ? handlers.handlers : handlers) as HandlerTable;
    this.#state = RUNNING;
    this.parent.childStarted(this.options.id, this.actor);
    if (isForwarding) this.#forward(handlers);
    if (this.#mailbox.length > 0) this.runtime.scheduler.schedule(this);
  }

  /** What came before goes first. */
  #forward(forwarding: Forwarding): void {
    const door = forwarding.open(this);
    this.#door = this.#isDraining ? new DrainingDoor(door) : door;
    for (const envelope of [...this.#mailbox.drain()]) {
      this.runtime.counters.sent -= 1; // counted again by whoever takes it
      door.take(this, envelope);
    }
  }

  // ---- The end

  #end(reason: TerminationReason, drainsChildren = false): void {
    if (this.isEnding) return;
    this.#close(reason);
    const hasChildren = this.#children !== null && !this.#children.isEmpty;
    if (!hasChildren && this.#stopHooks === null && this.#setup === null) this.#terminate(reason);
    else void this.#windDown(reason, drainsChildren);
  }

  /** From here on nothing comes in, and nothing that the context handed out calls back. */
  #close(reason: TerminationReason): void {
    this.#state = { kind: 'stopping', reason };
    this.#door = CLOSED;
    this.#lifetime?.abort();
    this.receiveTimeout?.cancel();
    const ending = this.#ending;
    this.#ending = null;
    for (const clean of ending ?? []) clean();
    this.unstashAll();
    const { heir } = this.parent;
    for (const envelope of this.#mailbox.drain()) {
      if (heir === undefined) this.runtime.refuse(this.path, envelope, 'terminated');
      else heir(this, envelope);
    }
  }

  /** L3, L4. Never rejects: a failing hook is logged, the end goes on. */
  async #windDown(reason: TerminationReason, drainsChildren: boolean): Promise<void> {
    if (this.#children !== null) await this.#children.stopAll({ drain: drainsChildren });
    if (this.isTerminated) return;
    // Each child had its own deadline; this one is for what is left.
    const shutdownMs = this.options.shutdownMs ?? SHUTDOWN_DEFAULT_MS;
    this.#killTimer = this.runtime.clock.startTimer(shutdownMs, () => this.kill());
    if (this.#setup !== null) await this.#setup;
    while (!this.isTerminated) {
      const clean = this.#stopHooks?.pop();
      if (clean === undefined) break;
      await this.#runHook(clean, reason);
    }
    this.#terminate(reason);
  }

  async #runHook(clean: StopHook, reason: TerminationReason): Promise<void> {
    try {
      await clean(reason);
    } catch (error) {
      this.runtime.log.error({ actor: this.path, error: errorText(error) }, 'a stop hook failed');
    }
  }

  #terminate(reason: TerminationReason): void {
    if (this.#state.kind === 'terminated') return;
    this.#state = { kind: 'terminated', reason };
    this.#killTimer?.cancel();
    this.runtime.forget(this);
    const watchers = this.#watchers;
    this.#watchers = null;
    for (const onTerminated of watchers ?? []) onTerminated(reason);
    this.parent.childEnded(this.options.id, this.actor, reason);
  }

  #owner(): ChildrenOwner {
    return {
      thread: this.thread,
      path: this.path,
      clock: this.runtime.clock,
      random: this.runtime.random,
      launch: (spec: ChildSpec) => this.runtime.launch(spec, this),
      crash: (message) => this.crash(new Error(message)),
      restarted: () => {
        this.runtime.counters.restarts += 1;
      },
      signal: (run) => this.signalNow(run),
    };
  }
}
