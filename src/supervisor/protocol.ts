// Protocol: what an actor can be told, asked and streamed. This file and `actor.ts` are all that an actor's author needs.
// P1 Messages are plain data (structured-cloneable, no functions, no class instances): they may cross threads.
// P2 A protocol is a value: names, message contracts and their schemas; types are inferred from it, never written twice.
// P3 The protocol's name is also the name under which its one actor is registered, where there is only one.

import type { Fault } from '../std/errors.ts';
import type { Static, TSchema } from '../std/schema.ts';

declare const requestType: unique symbol;
declare const replyType: unique symbol;

interface ContractBase<Kind extends string, Request, Reply> {
  readonly kind: Kind;
  /** Validates and describes the message where it enters from outside; absent for messages between actors only. */
  readonly request: TSchema | undefined;
  /** Describes and serialises the reply (of a call) or one item (of a stream). */
  readonly reply: TSchema | undefined;
  /** One sentence for the API description. */
  readonly summary: string | undefined;
  /** The makers of the faults that this message may answer. */
  readonly faults: Readonly<Record<string, (message: string) => Fault>>;
  readonly [requestType]?: Request;
  readonly [replyType]?: Reply;
}

/** A question: exactly one reply or one fault. */
export interface Call<Request, Reply> extends ContractBase<'call', Request, Reply> {}
/** A statement: no answer. */
export interface Tell<Message> extends ContractBase<'tell', Message, void> {}
/** A question with many answers, pulled by the asker: nothing is produced beyond the credit that it grants. */
export interface Stream<Request, Item> extends ContractBase<'stream', Request, Item> {}

// biome-ignore lint/suspicious/noExplicitAny: contracts are invariant in their payloads; `any` is the top of them all.
export type Contract = Call<any, any> | Tell<any> | Stream<any, any>;
export type Contracts = Readonly<Record<string, Contract>>;

export interface Protocol<Messages extends Contracts = Contracts> {
  readonly name: string;
  readonly messages: Messages;
}

export interface ContractOptions {
  readonly summary?: string;
  readonly faults?: Readonly<Record<string, (message: string) => Fault>>;
}

type Schemas<Request extends TSchema, Reply extends TSchema> = ContractOptions & {
  readonly request: Request;
  readonly reply: Reply;
};

/** `call({ request, reply })` from schemas, or `call<Request, Reply>()` for a message between actors only. */
export function call<Request extends TSchema, Reply extends TSchema>(
  contract: Schemas<Request, Reply>,
): Call<Static<Request>, Static<Reply>>;
export function call<Request, Reply>(contract?: ContractOptions): Call<Request, Reply>;
export function call(contract: Partial<Schemas<TSchema, TSchema>> = {}): Call<unknown, unknown> {
  return contractOf('call', contract);
}

export function tell<Message extends TSchema>(
  contract: ContractOptions & { readonly request: Message },
): Tell<Static<Message>>;
export function tell<Message>(contract?: ContractOptions): Tell<Message>;
export function tell(contract: Partial<Schemas<TSchema, TSchema>> = {}): Tell<unknown> {
  return contractOf('tell', contract) as Tell<unknown>;
}

export function stream<Request extends TSchema, Item extends TSchema>(
  contract: Schemas<Request, Item>,
): Stream<Static<Request>, Static<Item>>;
export function stream<Request, Item>(contract?: ContractOptions): Stream<Request, Item>;
export function stream(contract: Partial<Schemas<TSchema, TSchema>> = {}): Stream<unknown, unknown> {
  return contractOf('stream', contract);
}

function contractOf<Kind extends string>(
  kind: Kind,
  contract: Partial<Schemas<TSchema, TSchema>>,
): ContractBase<Kind, unknown, unknown> {
  return {
    kind,
    request: contract.request,
    reply: contract.reply,
    summary: contract.summary,
    faults: contract.faults ?? {},
  };
}

export function protocol<const Messages extends Contracts>(
  name: string,
  messages: Messages,
): Protocol<Messages> {
  return { name, messages };
}

type KindsOf<P extends Protocol, Kind extends Contract['kind']> = {
  [Name in keyof P['messages'] & string]: P['messages'][Name]['kind'] extends Kind ? Name : never;
}[keyof P['messages'] & string];

export type CallsOf<P extends Protocol> = KindsOf<P, 'call'>;
export type TellsOf<P extends Protocol> = KindsOf<P, 'tell'>;
export type StreamsOf<P extends Protocol> = KindsOf<P, 'stream'>;

export type RequestOf<C extends Contract> = Exclude<C[typeof requestType], undefined>;
export type ReplyOf<C extends Contract> = Exclude<C[typeof replyType], undefined>;

export type RequestTo<P extends Protocol, Name extends keyof P['messages']> = RequestOf<P['messages'][Name]>;
export type ReplyFrom<P extends Protocol, Name extends keyof P['messages']> = ReplyOf<P['messages'][Name]>;

export interface AskOptions {
  /** Milliseconds until the ask fails with `ask_timeout`; the system's default (10 s) when absent. */
  readonly deadlineMs?: number;
  /** Aborts the ask, and the `signal` of the handler that works on it. */
  readonly signal?: AbortSignal;
}

/** Where one incarnation of an actor lives. Plain data; survives any wire; dies with the incarnation. */
export interface Address {
  readonly thread: number;
  readonly actor: number;
  readonly path: string;
}

/** The handle to an actor. Which thread it lives on cannot be told from its use. */
export interface Ref<P extends Protocol> {
  readonly path: string;
  /**
   * What a message carries instead of the ref (see ActorContext.refTo); null for a name, whose
   * bearer may change, and for a child as long as its thread is not decided (see Placement).
   */
  readonly address: Address | null;
  /** Fire and forget. False when the mailbox (or the link to its thread) was full or the actor is gone: counted, never silent. */
  tell<Name extends TellsOf<P>>(name: Name, message: RequestTo<P, Name>): boolean;
  /** @throws {Fault} what the actor declared, or ask_timeout, actor_terminated, mailbox_full, ask_cancelled. */
  ask<Name extends CallsOf<P>>(
    name: Name,
    message: RequestTo<P, Name>,
    options?: AskOptions,
  ): Promise<ReplyFrom<P, Name>>;
  /** Items in order; `return()` or an aborted signal stops the producer. */
  stream<Name extends StreamsOf<P>>(
    name: Name,
    message: RequestTo<P, Name>,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterableIterator<ReplyFrom<P, Name>>;
}
