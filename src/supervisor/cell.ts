// Cell: one incarnation of an actor. It owns the mailbox, the lifecycle and everything that dies with the incarnation.
// L1 starting -> running -> stopping -> terminated, and never back; a restart is a new cell.
// L2 Signals (ends of children and of watched actors, timers, piped results, stop) have a lane of their own that is
//    served before mail and has no bound: each is the answer to something this actor itself set going.
// L3 When it stops, its mail is refused, its asks fail, its children end in reverse order, then every watcher is told once.

import { errorText, isFault } from '../std/errors.ts';
import type { Behaviour, ChildOptions, Handlers, Inquiry, TerminationReason } from './actor.ts';
import { type ChildHandle, Children, type ChildrenOwner, type ChildSpec } from './children.ts';
import { Context } from './context.ts';
import type { Envelope } from './envelope.ts';
import { kernelFaults } from './faults.ts';
import { HandlerInquiry } from './inquiry.ts';
import { MAILBOX_DEFAULT, Mailbox } from './mailbox.ts';
import { faultFor } from './pending-ask.ts';
import type { Address, Protocol } from './protocol.ts';
import type { Target } from './ref.ts';
import type { Runtime } from './runtime.ts';
import type { Runnable } from './scheduler.ts';
import { StreamOutlet } from './streams.ts';

/** Whom a cell tells about its own life; on this thread or on another. */
export interface ParentHandle {
  readonly thread: number;
  childStarted(actor: number): void;
  childEnded(actor: number, reason: TerminationReason): void;
}

type State =
  | { readonly kind: 'starting' }
  | { readonly kind: 'running' }
  | { readonly kind: 'stopping'; readonly reason: TerminationReason }
  | { readonly kind: 'terminated'; readonly reason: TerminationReason };

type AnyHandler = (message: unknown, inquiry?: Inquiry) => unknown;

const NO_HANDLERS: Readonly<Record<string, AnyHandler>> = {};
const SIGNALS = { lengthMax: Number.POSITIVE_INFINITY, whenFull: 'reject' } as const;

export class Cell implements Runnable, Target, ChildHandle {
  readonly runtime: Runtime;
  readonly actor: number;
  readonly path: string;
  readonly options: ChildOptions;
  readonly parent: ParentHandle;
  readonly startedAtMs: number;
  isScheduled = false;
  handled = 0;
  /** The name that it is registered under; set by the runtime. */
  name: string | null = null;
  #state: State = { kind: 'starting' };
  #handlers = NO_HANDLERS;
  #lifetime: AbortController | null = null;
  #children: Children | null = null;
  #stopHooks: ((reason: TerminationReason) => void | Promise<void>)[] | null = null;
  #watchers: Set<(reason: TerminationReason) => void> | null = null;
  #ending: Set<() => void> | null = null;
  readonly #mailbox: Mailbox<Envelope>;
  readonly #signals = new Mailbox<() => void>(SIGNALS);

  constructor(runtime: Runtime, actor: number, path: string, options: ChildOptions, parent: ParentHandle) {
    this.runtime = runtime;
    this.actor = actor;
    this.path = path;
    this.options = options;
    this.parent = parent;
    this.startedAtMs = runtime.clock.nowMs();
    this.#mailbox = new Mailbox(options.mailbox ?? MAILBOX_DEFAULT);
  }

  get thread(): number {
    return this.runtime.thread;
  }

  get address(): Address {
    return { thread: this.runtime.thread, actor: this.actor, path: this.path };
  }

  get state(): State['kind'] {
    return this.#state.kind;
  }

  get mailboxLength(): number {
    return this.#mailbox.length;
  }

  get isEnding(): boolean {
    return this.#state.kind === 'stopping' || this.#state.kind === 'terminated';
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

  childViews(): ReturnType<Children['views']> {
    return this.#children?.views() ?? [];
  }

  // ---- Life

  // biome-ignore lint/suspicious/noExplicitAny: a cell runs behaviours of any protocol.
  start(behaviour: Behaviour<any, any>, args: unknown): void {
    try {
      const handlers = behaviour.setup(new Context(this), args);
      if (handlers instanceof Promise) {
        handlers.then(
          (ready) => this.signalNow(() => this.#run(ready)),
          (error: unknown) => this.signalNow(() => this.crash(error)),
        );
      } else this.#run(handlers);
    } catch (error) {
      this.crash(error);
    }
  }

  stop(): void {
    this.#end({ kind: 'stopped' });
  }

  kill(): void {
    if (this.#state.kind === 'terminated') return;
    const reason: TerminationReason = this.#state.kind === 'stopping' ? this.#state.reason : { kind: 'killed' };
    this.#refuseMail();
    this.#children?.killAll();
    this.#terminate(reason.kind === 'stopped' ? { kind: 'killed' } : reason);
  }

  crash(error: unknown): void {
    if (this.isEnding) return;
    const message = errorText(error);
    this.runtime.log.error(
      { actor: this.path, error: error instanceof Error ? (error.stack ?? message) : message },
      'actor crashed',
    );
    this.#end({ kind: 'crashed', message });
  }

  onStop(clean: (reason: TerminationReason) => void | Promise<void>): void {
    this.#stopHooks ??= [];
    this.#stopHooks.push(clean);
  }

  /** Runs synchronously when the cell begins to stop (timers, watches, streams); returns a way to take it back. */
  whenEnding(clean: () => void): () => void {
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
    this.runtime.counters.sent += 1;
    if (this.isEnding) {
      this.runtime.refuse(this.path, envelope, 'terminated');
      return false;
    }
    if (this.#mailbox.isFull) {
      if (this.#mailbox.policy.whenFull === 'reject') {
        this.runtime.refuse(this.path, envelope, 'mailbox_full');
        return false;
      }
      const oldest = this.#mailbox.shift();
      if (oldest !== undefined) this.runtime.refuse(this.path, oldest, 'dropped_oldest');
    }
    this.#mailbox.push(envelope);
    this.runtime.scheduler.schedule(this);
    return true;
  }

  /** Queues a signal (L2); nothing happens once the cell has terminated. */
  signalNow(run: () => void): void {
    if (this.#state.kind === 'terminated') return;
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
    return count;
  }

  #handle(envelope: Envelope): void {
    this.handled += 1;
    this.runtime.counters.handled += 1;
    const handler = this.#handlers[envelope.name];
    if (handler === undefined) {
      const fault = kernelFaults.message_refused(`${this.path} does not understand ${envelope.name}`);
      if (envelope.kind === 'tell') this.crash(fault);
      else envelope.asker.fail(fault);
    } else if (envelope.kind === 'tell') this.#handleTell(handler, envelope.message);
    else if (envelope.kind === 'call') this.#handleCall(handler, envelope);
    else this.#handleStream(handler, envelope);
    envelope.origin?.settled();
  }

  #handleTell(handler: AnyHandler, message: unknown): void {
    try {
      const result = handler(message);
      if (result instanceof Promise) result.catch((error: unknown) => this.signalNow(() => this.crash(error)));
    } catch (error) {
      this.crash(error);
    }
  }

  #handleCall(handler: AnyHandler, envelope: Envelope & { readonly kind: 'call' }): void {
    const { asker } = envelope;
    const inquiry = new HandlerInquiry(this, asker);
    try {
      const result = handler(envelope.message, inquiry);
      if (!(result instanceof Promise)) {
        inquiry.close();
        asker.reply(result);
        return;
      }
      // What is still being worked on when the cell ends fails at once, not at its deadline.
      const forget = this.whenEnding(() => {
        asker.fail(kernelFaults.actor_terminated(`${this.path} ended before it answered`));
      });
      result.then(
        (value) => {
          forget();
          inquiry.close();
          asker.reply(value);
        },
        (error: unknown) => {
          forget();
          inquiry.close();
          this.#failAsk(asker, error);
        },
      );
    } catch (error) {
      inquiry.close();
      this.#failAsk(asker, error);
    }
  }

  #handleStream(handler: AnyHandler, envelope: Envelope & { readonly kind: 'stream' }): void {
    const { asker } = envelope;
    const inquiry = new HandlerInquiry(this, null);
    try {
      const items = handler(envelope.message, inquiry) as AsyncIterable<unknown>;
      const outlet: StreamOutlet = new StreamOutlet(items, asker, (error) => {
        forget();
        inquiry.abandon();
        if (error !== undefined) this.#failAsk(asker, error);
      });
      const forget = this.whenEnding(() =>
        outlet.fail(kernelFaults.actor_terminated(`${this.path} ended in the middle of a stream`)),
      );
      outlet.open();
    } catch (error) {
      this.#failAsk(asker, error);
    }
  }

  /** A fault is an answer; anything else is a bug, and the actor crashes with it (A3). */
  #failAsk(asker: { fail(fault: ReturnType<typeof faultFor>): void }, error: unknown): void {
    asker.fail(faultFor(error, this.path));
    if (!isFault(error)) this.crash(error);
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.crash(error);
    }
  }

  #run(handlers: Handlers<Protocol>): void {
    if (this.#state.kind !== 'starting') return;
    this.#handlers = handlers as unknown as Readonly<Record<string, AnyHandler>>;
    this.#state = { kind: 'running' };
    this.parent.childStarted(this.actor);
    if (this.#mailbox.length > 0) this.runtime.scheduler.schedule(this);
  }

  // ---- The end

  #end(reason: TerminationReason): void {
    if (this.isEnding) return;
    this.#state = { kind: 'stopping', reason };
    this.#lifetime?.abort();
    this.#refuseMail();
    const hasChildren = this.#children !== null && !this.#children.isEmpty;
    if (!hasChildren && this.#stopHooks === null) this.#terminate(reason);
    else void this.#windDown(reason);
  }

  /** Never rejects: a failing hook is logged, the end goes on. */
  async #windDown(reason: TerminationReason): Promise<void> {
    if (this.#children !== null) await this.#children.stopAll();
    for (const clean of (this.#stopHooks ?? []).reverse()) {
      try {
        await clean(reason);
      } catch (error) {
        this.runtime.log.error({ actor: this.path, error: errorText(error) }, 'a stop hook failed');
      }
    }
    this.#terminate(reason);
  }

  #refuseMail(): void {
    const ending = this.#ending;
    this.#ending = null;
    for (const clean of ending ?? []) clean();
    for (const envelope of this.#mailbox.drain()) this.runtime.refuse(this.path, envelope, 'terminated');
  }

  #terminate(reason: TerminationReason): void {
    if (this.#state.kind === 'terminated') return;
    this.#state = { kind: 'terminated', reason };
    this.runtime.forget(this);
    const watchers = this.#watchers;
    this.#watchers = null;
    for (const onTerminated of watchers ?? []) onTerminated(reason);
    this.parent.childEnded(this.actor, reason);
  }

  #owner(): ChildrenOwner {
    return {
      clock: this.runtime.clock,
      random: this.runtime.random,
      launch: (spec: ChildSpec) => this.runtime.launch(spec, this),
      crash: (message) => this.crash(new Error(message)),
    };
  }
}
