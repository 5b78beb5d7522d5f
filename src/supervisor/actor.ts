// Actor: what an author writes, and what the kernel gives to it. No classes: a behaviour is a named module export whose
// `setup` closes over the actor's state and returns one handler per message of its protocol.
//
// A1 One message at a time. A handler runs to its first `await` undisturbed; after an await other messages may have run,
//    so state is decided and written before it, or the result comes back through `context.pipe`.
// A2 A call handler's promise is piped to the caller; the mailbox goes on meanwhile (so cancel and stop are never late).
// A3 A Fault from a call handler answers the caller. Anything else that is thrown crashes the actor to its supervisor; except
//    an AbortError of work that stopped because the inquiry's own signal told it to.
// A4 Callbacks given to the context (timers, pipes, watches) run as messages of this actor, never beside a handler.
// A5 Everything the context handed out dies with the actor: timers, watches, children, signals, and what was asked or is
//    streamed through its refs. A stop hook may still ask. A restarted actor has what its own setup set going, no more.
// A6 Messages on the same thread are passed as they are, across threads as copies: whoever sent one, or got one, changes it
//    no more.
// A7 A message that was set aside counts as queued: its ask keeps its deadline, and fails at once when the actor ends.

import type { Clock } from '../std/clock.ts';
import type { RandomSource } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { forwards } from './forwarding.ts';
import type { Introspection } from './introspection/contract.ts';
import type { MailboxPolicy } from './mailbox.ts';
import type {
  Address,
  AskOptions,
  Call,
  CallsOf,
  Contract,
  Protocol,
  Ref,
  ReplyFrom,
  RequestTo,
  Stream,
  StreamsOf,
  Tell,
  TellsOf,
} from './protocol.ts';

/** What a call or stream handler learns about the asker. */
export interface Inquiry {
  /** Aborted when the asker gave up, when its deadline passed, and when this actor stops. */
  readonly signal: AbortSignal;
}

type HandlerOf<C extends Contract> =
  C extends Call<infer Request, infer Reply>
    ? (message: Request, inquiry: Inquiry) => Reply | Promise<Reply>
    : C extends Stream<infer Request, infer Item>
      ? (message: Request, inquiry: Inquiry) => AsyncIterable<Item>
      : C extends Tell<infer Message>
        ? (message: Message) => void | Promise<void>
        : never;

/** One handler per message of the protocol, in the order of the protocol. */
export type Handlers<P extends Protocol> = {
  readonly [Name in keyof P['messages']]: HandlerOf<P['messages'][Name]>;
};

/** Instead of handlers, of an actor that passes its mail on. No member of it is named as a message might be. */
export interface Forwards {
  readonly [forwards]: true;
}

export type Setup<P extends Protocol, Args> = (
  context: ActorContext<P>,
  args: Args,
) => Handlers<P> | Forwards | Promise<Handlers<P> | Forwards>;

/** A behaviour that can be started on any thread: `module` and `exportName` are how a worker finds it. */
export interface Behaviour<P extends Protocol, Args> {
  readonly protocol: P;
  readonly module: string;
  readonly exportName: string;
  readonly setup: Setup<P, Args>;
}

/** `export const counter = actor({ module: import.meta.url, exportName: 'counter', protocol, setup })`. */
export function actor<P extends Protocol, Args = undefined>(
  behaviour: Behaviour<P, Args>,
): Behaviour<P, Args> {
  return behaviour;
}

/** When a child is started again after it ended: always, after a crash only, never. */
export type Restart = 'permanent' | 'transient' | 'temporary';

export interface ThreadLimits {
  /** Old-generation heap limit, in MB: what goes beyond it ends the thread, and nothing else. Buffers do not count. */
  readonly heapMaxMb: number;
}

/**
 * Where a child lives, whichever thread its parent is on:
 * - `parent`: beside its parent; `edge`: on the main thread;
 * - `{ thread }`: on the worker thread of that name, started on first use, replaced when it dies;
 * - `{ anyOf }`: on the least loaded of those; `any`: on the least loaded of all that have a name, `host` if none has;
 * - `dedicated`: on a thread of its own, which ends with it; `{ dedicated }` with a heap limit of its own, started cold.
 * Load is actors and reported health. A restart is placed anew. A worker asks the main thread: until its answer has come,
 * which mail to the ref and watches wait for, the ref has no address yet.
 */
export type Placement =
  | 'parent'
  | 'edge'
  | 'any'
  | 'dedicated'
  | { readonly dedicated: ThreadLimits }
  | { readonly thread: string }
  | { readonly anyOf: readonly string[] };

export interface ChildOptions {
  /** Last segment of the child's path; unique among its siblings. */
  readonly id: string;
  /** Registers the child under its protocol's name, or under this one. One live actor per name. */
  readonly name?: string | true;
  readonly restart?: Restart;
  readonly placement?: Placement;
  readonly mailbox?: MailboxPolicy;
  /** How long a stop may take before the child is killed. */
  readonly shutdownMs?: number;
  /** Whoever stops the child drains it (see StopOptions). */
  readonly drain?: boolean;
}

export interface StopOptions {
  /**
   * The child takes no more mail, handles what has come, waits for its open calls, pipes, background work and what it holds,
   * and stops then; its children likewise. Its streams end with it. What is not done after `shutdownMs` is stopped as usual.
   */
  readonly drain?: boolean;
}

export type SupervisionStrategy = 'one_for_one' | 'one_for_all' | 'rest_for_one';

export interface Supervision {
  readonly strategy: SupervisionStrategy;
  /**
   * More than `restartsMax` restarts within `withinMs` and the supervisor itself fails: escalation. The loss of a thread
   * counts once, however many of the children lived on it.
   */
  readonly intensity: { readonly restartsMax: number; readonly withinMs: number };
  /**
   * The first restart of a quiet time waits `initialMs`; each further one within the intensity's window twice as long
   * (from 50 ms at least), at most `maxMs`; all ± half at random. `maxMs` 0 turns waiting off.
   */
  readonly backoff: { readonly initialMs: number; readonly maxMs: number };
}

/** Why an incarnation ended. */
export type TerminationReason =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'killed' }
  | { readonly kind: 'thread_lost'; readonly message: string }
  | { readonly kind: 'unknown_actor' };

export interface Terminated {
  readonly address: Address;
  readonly reason: TerminationReason;
}

export interface TimerOptions {
  /** The timer keeps a resident from being passivated, as `hold` does. A resident's other timers end with its residency. */
  readonly holds?: boolean;
}

export interface ActorContext<P extends Protocol = Protocol> {
  readonly path: string;
  readonly address: Address;
  readonly self: Ref<P>;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  /** Aborted when this incarnation ends. Hand it to every piece of background work. */
  readonly signal: AbortSignal;
  /** What the thread's bootstrap put up for its actors (storage handles, settings): shared by reference, same thread only. */
  readonly services: ThreadServices;

  /** A look at the whole system; actors on the main thread only. @throws elsewhere */
  readonly introspection: Introspection;
  /** Lets `getState` see what `expose` answers: plain data, without what nobody should see. Not called unless asked for. */
  exposeState(expose: () => unknown): void;

  /** How this actor's children are supervised; SUPERVISION_DEFAULT until it is called. */
  supervise(supervision: Supervision): void;
  /** Starts a child. The ref may be used at once; mail waits until its setup is done. */
  spawn<Q extends Protocol, Args>(behaviour: Behaviour<Q, Args>, args: Args, options: ChildOptions): Ref<Q>;
  /** Resolves when the child's setup is done; rejects when it ended for good before. */
  childStarted(id: string): Promise<void>;
  /** Stops a child and resolves when it has ended. */
  stopChild(id: string, options?: StopOptions): Promise<void>;
  /** Ends this actor normally, after the current handler. */
  stopSelf(): void;

  /** The ref of an incarnation whose address came in a message. */
  refTo<Q extends Protocol>(protocol: Q, address: Address): Ref<Q>;
  /** A ref that finds the registered actor at each use; `actor_unavailable` (retryable) while there is none. */
  named<Q extends Protocol>(protocol: Q, name?: string): Ref<Q>;
  ask<Q extends Protocol, Name extends CallsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
    options?: AskOptions,
  ): Promise<ReplyFrom<Q, Name>>;
  tell<Q extends Protocol, Name extends TellsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
  ): boolean;
  stream<Q extends Protocol, Name extends StreamsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterableIterator<ReplyFrom<Q, Name>>;

  /** Calls back exactly once when the target's incarnation has ended, at once when it already has. Returns an unwatch. */
  watch(target: Ref<Protocol> | Address, onTerminated: (terminated: Terminated) => void): () => void;
  /**
   * Two lives in one: when either ends other than by `stopped`, the other one crashes with that reason. What a restart makes
   * of them is their supervisors' business. Returns an unlink.
   */
  link(target: Ref<Protocol> | Address): () => void;
  /** Runs `onSettled` as a message of this actor when the promise settles; the actor's failure handling applies to it. */
  pipe<T>(work: Promise<T>, onDone: (value: T) => void, onFailed?: (error: unknown) => void): void;
  /** Background work that must not fail: its failure crashes this actor. */
  background(work: Promise<unknown>): void;
  /** One timer per key: setting a key again replaces its timer. Returns a cancel. */
  after(key: string, delayMs: number, fire: () => void, options?: TimerOptions): () => void;
  every(key: string, intervalMs: number, fire: () => void): () => void;
  /**
   * Calls back whenever no message has come for that long; mail starts the time anew, timers and piped results do not.
   * One at a time: setting it again replaces it. Returns a cancel.
   */
  receiveTimeout(idleMs: number, fire: () => void): () => void;
  /**
   * Sets the message that is being handled aside and leaves its handler; `return context.stash()` says so to a reader.
   * For tells and calls, before the handler's first await. As many fit as the mailbox holds; one more fails as at a full
   * mailbox.
   */
  stash(): never;
  /** Puts what was set aside back at the head of the mailbox, in order. */
  unstashAll(): void;
  /** Keeps a resident from being passivated (see residents.ts), and any actor's drain from its end, until it is released. */
  hold(): () => void;
  /**
   * Tells that this actor's thread nears its heap limit and is being left: temporary actors may finish within the pool's
   * `retireMs`, the others are drained and started again elsewhere. For an actor that gets new work by its address.
   */
  onRetire(tell: () => void): void;
  /** Runs when this incarnation ends for whatever reason but a kill or a lost thread; awaited within the child's shutdownMs. */
  onStop(clean: (reason: TerminationReason) => void | Promise<void>): void;
}

/**
 * Extended by declaration merging where a thread's bootstrap puts something up for its actors:
 * `declare module '../supervisor/actor.ts' { interface ThreadServices { readonly storage: Storage } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the members come from the bootstrap's own module.
export interface ThreadServices {}
