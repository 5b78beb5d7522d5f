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
  TellsOf,
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
  /** Members of the message that the edge itself fills in. */
  readonly edgeMembers?: readonly string[];
}

export interface CallBinding extends BindingBase {
  readonly kind: 'call';
  /** Status 202 for such an answer: what was asked for is still under way. */
  readonly isPending: ((reply: unknown) => boolean) | undefined;
  /** The JSON of an answer that may be large, in pieces. */
  readonly pieces: ((reply: unknown) => Iterable<string>) | undefined;
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

/** A file comes in a form, and goes to its actor in pieces. */
export interface UploadBinding extends BindingBase {
  readonly kind: 'upload';
  receive(door: ActorDoor): UploadReceiver;
}

export interface UploadReceiver {
  /** Answers the upload's id. */
  begin(message: Message): Promise<string>;
  write(uploadId: string, bytes: Uint8Array): Promise<unknown>;
  finish(uploadId: string): Promise<unknown>;
  abandon(uploadId: string): void;
}

/** The content of a file, or a range of it. */
export interface BytesBinding extends BindingBase {
  readonly kind: 'bytes';
  open(door: ActorDoor): (message: Message) => Promise<OpenedBytes>;
}

export interface OpenedBytes {
  readonly head: BytesHead;
  readonly pieces: AsyncIterator<Uint8Array>;
}

/** The first item of a stream of bytes. */
export interface BytesHead {
  readonly filename: string;
  readonly content_type: string;
  readonly sha256: string;
  readonly size_bytes: number;
  /** What follows, both inclusive; null where what was asked for lies behind the end. */
  readonly range: { readonly first: number; readonly last: number } | null;
}

export type Binding =
  | CallBinding
  | StreamBinding
  | EitherBinding
  | PageBinding
  | UploadBinding
  | BytesBinding;

export interface CallOptions<P extends Protocol, Name extends CallsOf<P>> extends BindOptions {
  /** Status 202 for such an answer: what was asked for is still under way. */
  readonly isPending?: (reply: ReplyFrom<P, Name>) => boolean;
  /** The JSON of an answer that may be large, in pieces (see json-pieces.ts). */
  readonly pieces?: (reply: ReplyFrom<P, Name>) => Iterable<string>;
}

/** `bind('GET', '/api/tool-outputs/{storage_key}', toolOutputs, 'read')`. */
export function bind<P extends Protocol, Name extends CallsOf<P>>(
  method: Method,
  url: string,
  protocol: P,
  message: Name,
  { isPending, pieces, ...options }: CallOptions<P, Name> = {},
): CallBinding {
  return {
    ...options,
    ...described(method, url, protocol, message, message),
    kind: 'call',
    isPending: isPending as CallBinding['isPending'],
    pieces: pieces as CallBinding['pieces'],
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
  const { kind: _kind, ask: _ask, isPending: _isPending, ...base } = call;
  return {
    ...base,
    kind: 'either',
    call,
    stream: bindStream(method, url, protocol, stream, rest),
    streamsWhen,
  };
}

/** The calls of a protocol that begin an upload with what is known about its file. */
export type UploadsOf<P extends Protocol> = {
  [Name in CallsOf<P>]: ReplyFrom<P, Name> extends { readonly upload_id: string } ? Name : never;
}[CallsOf<P>];

export interface UploadOptions<P extends Protocol> extends BindOptions {
  readonly write: CallsOf<P>;
  /** Its reply is the answer. */
  readonly finish: CallsOf<P>;
  readonly abandon: TellsOf<P>;
}

/** A file system that is slow to flush is waited for. */
const UPLOAD_STEP_MS = 60_000;

/**
 * `bindUpload('POST', '/api/workspaces/{workspace_id}/documents', workspaces, 'beginUpload', { write: …, finish: …, abandon: … })`.
 * The message that begins it has a `file` (name, type, announced size) beside what comes from the URL.
 */
export function bindUpload<P extends Protocol>(
  method: Method,
  url: string,
  protocol: P,
  message: UploadsOf<P>,
  options: UploadOptions<P>,
): UploadBinding {
  const { write, finish, abandon, ...rest } = options;
  const begun = described(method, url, protocol, message, finish);
  return {
    ...rest,
    ...begun,
    // Described as one: it begins with the one's request and ends with the other's reply.
    contract: withAnswerOf(begun.contract, protocol.messages[finish]),
    kind: 'upload',
    edgeMembers: ['file'],
    receive(door) {
      const actor = door.named(protocol);
      const patience = { deadlineMs: UPLOAD_STEP_MS };
      const ask = <Name extends CallsOf<P>>(name: Name, given: unknown) =>
        actor.ask(name, given as RequestTo<P, Name>, patience);
      return {
        begin: async (given) => ((await ask(message, given)) as { readonly upload_id: string }).upload_id,
        write: (upload_id, bytes) => ask(write, { upload_id, bytes }),
        finish: (upload_id) => ask(finish, { upload_id }),
        abandon: (upload_id) =>
          void actor.tell(abandon, { upload_id } as unknown as RequestTo<P, typeof abandon>),
      };
    },
  };
}

/** The streams of a protocol that give out bytes behind a head. */
export type BytesStreamsOf<P extends Protocol> = {
  [Name in StreamsOf<P>]: ReplyFrom<P, Name> extends BytesHead | Uint8Array ? Name : never;
}[StreamsOf<P>];

/** `bindBytes('GET', '/api/…/documents/{document_id}/raw', workspaces, 'raw')`. The message may take a `range`. */
export function bindBytes<P extends Protocol>(
  method: 'GET',
  url: string,
  protocol: P,
  message: BytesStreamsOf<P>,
  options: BindOptions = {},
): BytesBinding {
  return {
    ...options,
    ...described(method, url, protocol, message, message),
    kind: 'bytes',
    edgeMembers: ['range'],
    open(door) {
      const actor = door.named(protocol);
      return async (given) => {
        const items = actor.stream(message, given as RequestTo<P, typeof message>);
        const first = await items.next();
        assert(first.done !== true, `${protocol.name}.${message} begins with a head`);
        return { head: first.value as BytesHead, pieces: items as AsyncIterator<Uint8Array> };
      };
    },
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

function withAnswerOf(contract: Contract, answering: Contract | undefined): Contract {
  return {
    ...contract,
    reply: answering?.reply,
    faults: { ...contract.faults, ...answering?.faults },
  };
}
