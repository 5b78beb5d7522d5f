// Wire: the frames that two threads exchange. Arrays of plain data, so that structured clone is cheap and complete.
// W1 A batch holds what one turn produced, or a part of it. Its signals are handled before its mail.
// W2 Mail keeps its order per sender and receiver, replies included.

import type { FaultOnWire } from '../../std/errors.ts';
import type { ChildOptions, Placement, TerminationReason } from '../actor.ts';
import type { LinkNotice } from '../links.ts';
import type { Address } from '../protocol.ts';
import type { Counters } from '../runtime.ts';

export const MAIL = {
  tell: 0,
  call: 1,
  stream: 2,
  reply: 3,
  fail: 4,
  item: 5,
  end: 6,
  grant: 7,
  abandon: 8,
  drain: 9,
} as const;

export type MailFrame =
  // The messages of one name that an actor was told in a row: they share what they have in common.
  | readonly [typeof MAIL.tell, actor: number, path: string, name: string, messages: unknown[]]
  | readonly [
      typeof MAIL.call,
      actor: number,
      path: string,
      name: string,
      message: unknown,
      correlation: number,
    ]
  | readonly [
      typeof MAIL.stream,
      actor: number,
      path: string,
      name: string,
      message: unknown,
      correlation: number,
    ]
  // The five below go to the asker of a correlation, the last two to its answerer.
  | readonly [typeof MAIL.reply, correlation: number, value: unknown]
  | readonly [typeof MAIL.fail, correlation: number, fault: FaultOnWire]
  | readonly [typeof MAIL.item, correlation: number, value: unknown]
  | readonly [typeof MAIL.end, correlation: number]
  | readonly [typeof MAIL.grant, correlation: number, credit: number]
  | readonly [typeof MAIL.abandon, correlation: number]
  /** To a parent's child: behind the parent's mail, where a signal would go before it. */
  | readonly [typeof MAIL.drain, actor: number];

/** A child to start on the receiving thread, with its behaviour by module and export name. */
export interface SpawnOrder {
  readonly actor: number;
  readonly path: string;
  readonly module: string;
  readonly exportName: string;
  readonly args: unknown;
  readonly options: ChildOptions;
  /** The thread is its own, and has nothing left to do when it has ended. */
  readonly isDedicated: boolean;
}

/** A placement on a thread that the pool chooses. */
export type PoolPlacement = Exclude<Placement, 'parent' | 'edge'>;

export interface ThreadHealth {
  readonly actors: number;
  readonly heapUsedBytes: number;
  /** How late the event loop was when it answered, in milliseconds, at worst since the last answer. */
  readonly loopLagMs: number;
  readonly counters: Counters;
  readonly queued: number;
}

export type SignalFrame =
  | LinkNotice
  | { readonly kind: 'spawn'; readonly order: SpawnOrder }
  | { readonly kind: 'stop'; readonly actor: number }
  | { readonly kind: 'kill'; readonly actor: number }
  | { readonly kind: 'child_started'; readonly actor: number }
  | { readonly kind: 'child_ended'; readonly actor: number; readonly reason: TerminationReason }
  | { readonly kind: 'watch'; readonly watch: number; readonly actor: number }
  | { readonly kind: 'unwatch'; readonly watch: number }
  | { readonly kind: 'terminated'; readonly watch: number; readonly reason: TerminationReason }
  | { readonly kind: 'name_taken'; readonly name: string; readonly address: Address }
  | { readonly kind: 'name_freed'; readonly name: string; readonly address: Address }
  /** The main thread's answer to a `name_taken` that came too late: the name is `bearer`'s. */
  | { readonly kind: 'name_refused'; readonly name: string; readonly actor: number; readonly bearer: Address }
  | { readonly kind: 'connect'; readonly thread: number; readonly port: Port }
  | { readonly kind: 'thread_gone'; readonly thread: number; readonly message: string }
  /** A worker asks for a place for a child of its own; the main thread says which, or why there is none. */
  | {
      readonly kind: 'place';
      readonly placement: PoolPlacement;
      readonly actor: number;
      readonly path: string;
    }
  | { readonly kind: 'placed'; readonly actor: number; readonly thread: number }
  | { readonly kind: 'not_placed'; readonly actor: number; readonly message: string }
  /** A thread on which nothing of what it was asked for is left, if it was dedicated to that. */
  | { readonly kind: 'give_back'; readonly thread: number }
  | { readonly kind: 'give_up'; readonly thread: number }
  /** A thread has sent what cannot be read (see link.ts). */
  | { readonly kind: 'condemn'; readonly thread: number }
  /** The thread is to be left, and says so to the parents of its actors (see retirement.ts). */
  | { readonly kind: 'retire'; readonly graceMs: number }
  | { readonly kind: 'child_retiring'; readonly actor: number }
  /** Nobody lives there any more, which only the thread itself can know. */
  | { readonly kind: 'vacated' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'pong'; readonly health: ThreadHealth }
  | { readonly kind: 'shutdown' }
  | { readonly kind: 'goodbye' };

/** The frames that carry one message each of a frame's. */
export function singly(frame: MailFrame): MailFrame[] {
  if (frame[0] !== MAIL.tell) return [frame];
  const [kind, actor, path, name, messages] = frame;
  return messages.map((message) => [kind, actor, path, name, [message]]);
}

/** What must be handed over with a signal, not copied. */
export function portsOf(frame: SignalFrame): Port[] {
  return frame.kind === 'connect' ? [frame.port] : [];
}

/** One end of a channel between two threads: a MessagePort, or its like in a simulation. */
export interface Port {
  // biome-ignore lint/suspicious/noExplicitAny: a transport hands over its own ports, of one kind.
  postMessage(batch: Batch, handedOver?: readonly any[]): void;
  on(event: 'message', take: (batch: Batch) => void): unknown;
  /** A batch has come that could be written there and cannot be read here. */
  on(event: 'messageerror', tell: () => void): unknown;
  close(): void;
}

export interface Batch {
  /** How many of the receiver's messages have arrived here: their credit goes back (see link.ts). */
  readonly received: number;
  /** How many of them have left their mailboxes since: the receiver's counters need it if this thread is lost. */
  readonly settled: number;
  readonly signals: readonly SignalFrame[];
  readonly mail: readonly MailFrame[];
}
