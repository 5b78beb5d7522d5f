// What the provider double is told to answer. Replies are plain data, so that the double can also be scripted from another
// process; a test on the same thread may decide each reply by a function instead.

/** One completion, told independently of the API that it is asked through. */
export interface Reply {
  /** The answer: a list is sent chunk by chunk as it is, a string is cut into chunks of `chunkChars`. */
  readonly text?: string | readonly string[];
  readonly chunkChars?: number;
  /** Silence before the first chunk; `chunkDelayMs` when absent. */
  readonly firstDelayMs?: number;
  /** Chunk n is due `firstDelayMs + (n - 1) × chunkDelayMs` after the request: lateness does not add up. */
  readonly chunkDelayMs?: number;
  /** Thinking, sent before the text, cut like it. */
  readonly reasoning?: string;
  readonly reasoningField?: 'reasoning_content' | 'reasoning';
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** The arguments of each tool call come in so many pieces; those of parallel calls are interleaved. */
  readonly toolFragments?: number;
  /** Members are merged over a count of words. Null: usage is not reported although it was asked for. */
  readonly usage?: Readonly<Record<string, unknown>> | null;
  /** `stop`, or `tool_calls` when there are any. Null: the stream just ends. */
  readonly finishReason?: string | null;
  /** Sends the stream in pieces of so many bytes, which cuts characters and lines. */
  readonly cutEveryBytes?: number;
  /** Answers with one JSON body although a stream was asked for. */
  readonly blocking?: boolean;
  /** Answers a request for embeddings with this, instead of vectors that follow from the texts. */
  readonly embeddings?: object;
  /** What is said in every recording. */
  readonly transcript?: string;
  readonly fault?: ScriptedFault;
}

export interface ScriptedToolCall {
  /** Null: the provider forgets the id, as some local servers do. */
  readonly id?: string | null;
  readonly name: string;
  /** A string is sent as it is: the way to send broken JSON. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

export type ScriptedFault =
  /** An HTTP error instead of a stream. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly message?: string;
      /** Chat-completions: the error's `code`. */
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The connection is destroyed where usage and the end of the stream should come. Chat-completions only. */
  | { readonly kind: 'cut_after_finish' }
  /** After so many chunks the connection is destroyed. */
  | { readonly kind: 'cut'; readonly afterChunks: number }
  /** After so many chunks nothing more is sent until `release()` or until the client leaves. */
  | { readonly kind: 'stall'; readonly afterChunks: number }
  /** Not even the response's head is sent until `release()` or until the client leaves. */
  | { readonly kind: 'silence' }
  /** After so many chunks a data line comes that is no JSON. */
  | { readonly kind: 'malformed'; readonly afterChunks: number }
  /** After so many chunks the provider reports an error in the stream and ends it. */
  | { readonly kind: 'error_event'; readonly afterChunks: number; readonly message: string };

export interface ScriptRule {
  readonly when: {
    readonly lastRole?: string;
    /** The last message's text contains this. */
    readonly lastText?: string;
    readonly model?: string;
  };
  readonly reply: Reply;
}

/** One reply for every request, a queue of replies, the first rule that fits, or a decision. */
export type Script =
  | Reply
  | readonly Reply[]
  | { readonly rules: readonly ScriptRule[] }
  | ((request: DoubleRequest) => Reply | Promise<Reply>);
export type DeclarativeScript = Exclude<Script, (request: DoubleRequest) => unknown>;

export interface ModelsScript {
  /** Entries of the list; text stands for an entry with that id and nothing else. */
  readonly list: readonly (string | Readonly<Record<string, unknown>>)[];
  /** Answers this status instead of the list. */
  readonly status?: number;
  /** Never answers, until `release()`. */
  readonly silent?: boolean;
}

/** One request as the double saw it. */
export interface DoubleRequest {
  readonly api: 'openai' | 'anthropic';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The port of the client's end: tells connections apart. */
  readonly clientPort: number;
  /** The parsed body; `{}` for a GET. */
  readonly body: CompletionBody;
  /** Resolves when the response has ended: sent in full, or the client left before. */
  readonly ended: Promise<'sent' | 'client_left' | 'cut'>;
}

export interface CompletionBody {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly unknown[];
  readonly [member: string]: unknown;
}

const EXHAUSTED: Reply = {
  fault: { kind: 'status', status: 500, message: 'the script of the provider double has no reply left' },
};

/** Makes the function that answers one request after another. */
export function replier(script: Script): (request: DoubleRequest) => Reply | Promise<Reply> {
  if (typeof script === 'function') return script;
  if ('rules' in script) {
    return (request) => script.rules.find((rule) => fits(rule.when, request))?.reply ?? EXHAUSTED;
  }
  if (isQueue(script)) {
    const queue = [...script];
    return () => queue.shift() ?? EXHAUSTED;
  }
  return () => script;
}

function isQueue(script: Reply | readonly Reply[]): script is readonly Reply[] {
  return Array.isArray(script);
}

function fits(when: ScriptRule['when'], request: DoubleRequest): boolean {
  const last = request.body.messages?.at(-1);
  return (
    (when.lastRole === undefined || last?.role === when.lastRole) &&
    (when.lastText === undefined || JSON.stringify(last?.content ?? '').includes(when.lastText)) &&
    (when.model === undefined || request.body.model === when.model)
  );
}

/** The chunks of the answer's text, in order. */
export function textChunks(reply: Reply): readonly string[] {
  return typeof reply.text === 'string' ? cut(reply.text, reply.chunkChars ?? 16) : (reply.text ?? []);
}

export function cut(text: string, chars: number): string[] {
  const letters = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < letters.length; at += chars) pieces.push(letters.slice(at, at + chars).join(''));
  return pieces;
}

/** The text of a call's arguments in `count` pieces. */
export function argumentPieces(call: ScriptedToolCall, count: number): string[] {
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
  return text === '' ? [''] : cut(text, Math.ceil([...text].length / count));
}

export function wordCount(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}
