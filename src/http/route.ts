// Route: one line that binds a method and a URL to an actor's message. This is all that an author of routes needs.
// O1 A route holds no logic: validation, reply, faults and description all come from the message's contract.
// O2 `{name}` in a URL fills the message's property of that name; `params` says which where the two differ.
// O3 The rest of the message comes from the body of POST, PUT and PATCH, and from the query of GET and DELETE.
// O4 `user_id` is the session's: the edge fills it in, and neither takes it from a client nor describes it.

import { assert } from '../std/assert.ts';
import type {
  AskOptions,
  CallsOf,
  Contract,
  Protocol,
  Ref,
  ReplyFrom,
  RequestTo,
  StreamsOf,
} from '../supervisor/protocol.ts';
import type { FailureDialect } from './errors.ts';
import type { Page } from './result-page.ts';
import type { Tail } from './sse.ts';
import type { SseFrame } from './sse-framing.ts';

/** All that the edge needs of the actor system. */
export interface ActorDoor {
  named<P extends Protocol>(protocol: P): Ref<P>;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Message = Readonly<Record<string, unknown>>;

export interface BindOptions {
  /** Of a good answer; 200 when absent. */
  readonly status?: number;
  /** URL parameter to message property, where they differ. */
  readonly params?: Readonly<Record<string, string>>;
  /** True for a GET or DELETE that takes its message from a body. */
  readonly body?: boolean;
  /** The group in the API description; the protocol's name when absent. */
  readonly tag?: string;
  /** For an answer that takes longer than the system's default; the client's leaving then ends the wait. */
  readonly deadlineMs?: number;
  /** How failures are worded; `{ error, ...details }` when absent. */
  readonly failures?: FailureDialect;
}

interface BindingBase extends BindOptions {
  readonly method: Method;
  readonly url: string;
  readonly noun: string;
  readonly message: string;
  /** The contract that validates and describes the request. */
  readonly contract: Contract;
}

export interface CallBinding extends BindingBase {
  readonly kind: 'call';
  ask(door: ActorDoor): (message: Message, options: AskOptions) => Promise<unknown>;
}

export interface StreamBinding extends BindingBase {
  readonly kind: 'stream';
  /** Property of the message that a `Last-Event-ID` overrides. */
  readonly cursor: string | undefined;
  open(door: ActorDoor): (message: Message, signal: AbortSignal) => Tail | Promise<Tail>;
}

/** A call that a browser makes when it is sent here: it answers a page. */
export interface PageBinding extends BindingBase {
  readonly kind: 'page';
  show(door: ActorDoor): (message: Message, options: AskOptions) => Promise<Page>;
}

/** One URL, two ways to be answered: the message says which. */
export interface EitherBinding extends BindingBase {
  readonly kind: 'either';
  readonly call: CallBinding;
  readonly stream: StreamBinding;
  /** The property of the message that is true where a stream is wanted. */
  readonly streamsWhen: string;
}

export type Binding = CallBinding | StreamBinding | EitherBinding | PageBinding;

/** `bind('GET', '/api/tool-outputs/{storage_key}', toolOutputs, 'read')`. */
export function bind<P extends Protocol, Name extends CallsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Name,
  options: BindOptions = {},
): CallBinding {
  return {
    ...options,
    ...described(method, url, protocol, message, message),
    kind: 'call',
    ask(door) {
      const actor = door.named(protocol);
      // The message was validated against the contract's schema: this is where it gets its type.
      return (given, askOptions) => actor.ask(message, given as RequestTo<P, Name>, askOptions);
    },
  };
}

export interface PageOptions<P extends Protocol, Name extends CallsOf<P>> extends BindOptions {
  readonly page: (reply: ReplyFrom<P, Name>) => Page;
}

/** `bindPage('GET', '/api/…/oauth/callback/{nonce}', aggregator, 'settleLink', { page: … })`. */
export function bindPage<P extends Protocol, Name extends CallsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Name,
  options: PageOptions<P, Name>,
): PageBinding {
  const { page, ...rest } = options;
  return {
    ...rest,
    ...described(method, url, protocol, message, message),
    kind: 'page',
    show(door) {
      const actor = door.named(protocol);
      return async (given, askOptions) =>
        page(await actor.ask(message, given as RequestTo<P, Name>, askOptions));
    },
  };
}

/** The streams of a protocol whose items are batches of frames. */
export type FrameStreamsOf<P extends Protocol> = {
  [Name in StreamsOf<P>]: ReplyFrom<P, Name> extends readonly SseFrame[] ? Name : never;
}[StreamsOf<P>];

export interface StreamOptions<P extends Protocol, Name extends FrameStreamsOf<P>> extends BindOptions {
  /** The property that says after which sequence number to go on. `Last-Event-ID` overrides it. */
  readonly cursor?: keyof RequestTo<P, Name> & string;
}

/** `bindStream('GET', '/api/agent/chat/stream/attach', runs, 'tail', { cursor: 'after' })`. */
export function bindStream<P extends Protocol, Name extends FrameStreamsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Name,
  options: StreamOptions<P, Name> = {},
): StreamBinding {
  return {
    ...options,
    ...described(method, url, protocol, message, message),
    kind: 'stream',
    cursor: options.cursor,
    open(door) {
      const actor = door.named(protocol);
      return (given, signal) => ({
        first: [],
        batches: actor.stream(message, given as RequestTo<P, Name>, { signal }) as AsyncIterator<
          readonly SseFrame[]
        >,
      });
    },
  };
}

export interface OpeningOptions<P extends Protocol, Open extends CallsOf<P>, Name extends FrameStreamsOf<P>>
  extends BindOptions {
  /** The stream that is tailed once the call has answered. */
  readonly tail: Name;
  readonly follow: (reply: ReplyFrom<P, Open>, message: RequestTo<P, Open>) => RequestTo<P, Name>;
  /** The frames that the edge itself writes first. */
  readonly first?: (reply: ReplyFrom<P, Open>) => readonly SseFrame[];
}

/**
 * A call whose answer opens a stream: a fault of the call is an ordinary error reply.
 * `bindOpening('POST', '/api/agent/chat/stream', runs, 'start', { tail: 'tail', follow: …, first: … })`.
 */
export function bindOpening<P extends Protocol, Open extends CallsOf<P>, Name extends FrameStreamsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Open,
  options: OpeningOptions<P, Open, Name>,
): StreamBinding {
  const { tail, follow, first, ...rest } = options;
  return {
    ...rest,
    ...described(method, url, protocol, message, tail),
    kind: 'stream',
    cursor: undefined,
    open(door) {
      const actor = door.named(protocol);
      return async (given, signal) => {
        // Without the signal: what was started goes on when the one who started it has left.
        const opening = given as RequestTo<P, Open>;
        const reply = await actor.ask(message, opening);
        return {
          first: first?.(reply) ?? [],
          batches: actor.stream(tail, follow(reply, opening), { signal }) as AsyncIterator<
            readonly SseFrame[]
          >,
        };
      };
    },
  };
}

export interface EitherOptions<P extends Protocol, Name extends FrameStreamsOf<P>> extends BindOptions {
  /** The stream that answers the same message piece by piece. */
  readonly stream: Name;
  readonly streamsWhen: keyof RequestTo<P, Name> & string;
}

/**
 * A call and a stream with the same request, told apart by a property of it.
 * `bindEither('POST', '/v1/chat/completions', chatCompletions, 'complete', { stream: 'stream', streamsWhen: 'stream' })`.
 */
export function bindEither<P extends Protocol, Name extends CallsOf<P>, Stream extends FrameStreamsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Name,
  options: EitherOptions<P, Stream>,
): EitherBinding {
  const { stream, streamsWhen, ...rest } = options;
  const call = bind(method, url, protocol, message, rest);
  const { kind: _kind, ask: _ask, ...base } = call;
  return {
    ...base,
    kind: 'either',
    call,
    stream: bindStream(method, url, protocol, stream, rest),
    streamsWhen,
  };
}

function described(method: Method, url: string, protocol: Protocol, message: string, answeredBy: string) {
  const contract = protocol.messages[message];
  assert(
    contract?.request !== undefined,
    `${protocol.name}.${message} has a schema, so that a route may publish it`,
  );
  assert(protocol.messages[answeredBy] !== undefined, `${protocol.name} has a stream ${answeredBy}`);
  return { method, url, noun: protocol.name, message, contract };
}
