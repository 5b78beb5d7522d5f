// Chat-completions adapter: OpenAI, OpenRouter, the Vercel gateway, LM Studio and every endpoint that speaks their protocol.
// Pulled without a promise for each chunk (std/pulled.ts): thousands of answers are under way on one thread, and each waits for
// its next chunk for longer than a young generation lasts.

import type { Timer } from '../../std/clock.ts';
import { nextOf, type Pulled, type Taker } from '../../std/pulled.ts';
import { type Adapter, type AdapterTools, CALL_MS_MAX } from './adapter.ts';
import { buildCompletion, type CompletionBuilder } from './completion-builder.ts';
import { openaiBody, openaiHeaders } from './openai-messages.ts';
import type { ReportedUsage } from './pricing.ts';
import type { CompletionDelta, CompletionRequest, FinishReason } from './protocol.ts';
import {
  faultOf,
  MalformedAnswer,
  OverdueAnswer,
  ReportedError,
  UnfinishedAnswer,
} from './provider-failure.ts';
import { TOOL_CALLS_PER_ANSWER_MAX } from './tool-call-assembly.ts';
import type { EventStream } from './transport.ts';

const END_OF_STREAM = '[DONE]';

type Deltas = readonly CompletionDelta[];

export const completeWithOpenai: Adapter = (request, tools, signal) =>
  new OpenaiAnswer(request, tools, signal);

/** Nothing is asked before the first pull. */
class OpenaiAnswer implements AsyncIterableIterator<Deltas, void, undefined>, Pulled<Deltas> {
  readonly #request: CompletionRequest;
  readonly #tools: AdapterTools;
  readonly #signal: AbortSignal;
  readonly #builder: CompletionBuilder;
  #stream: EventStream | null = null;
  #deadline: Timer | null = null;
  #isOverdue = false;
  /** Reading may bring in what the connection has held back, and closing wakes us too: that is not read in between. */
  #isReading = false;
  /** Something has come since it was last read. Nobody tells of it again. */
  #hasArrived = false;
  #taker: Taker<Deltas> | null = null;
  /** How it ended: told when all deltas are. */
  #outcome: { readonly fault: unknown } | null = null;

  constructor(request: CompletionRequest, tools: AdapterTools, signal: AbortSignal) {
    this.#request = request;
    this.#tools = tools;
    this.#signal = signal;
    this.#builder = buildCompletion(tools.random, request.price);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Deltas, undefined>> {
    return nextOf(this);
  }

  return(): Promise<IteratorResult<Deltas, undefined>> {
    if (this.#outcome === null) this.#finish(null);
    this.#builder.take();
    this.#give([]);
    return Promise.resolve({ done: true, value: undefined });
  }

  pull(taker: Taker<Deltas>): void {
    this.#taker = taker;
    if (this.#outcome === null && this.#stream === null) this.#open();
    this.#advance();
  }

  #open(): void {
    if (this.#signal.aborted) {
      this.#finish(null);
      return;
    }
    const { transport, clock, media } = this.#tools;
    const { connection } = this.#request;
    try {
      const body = openaiBody(this.#request, media);
      this.#stream = transport.post(
        connection,
        '/chat/completions',
        openaiHeaders(connection),
        media.bodyOf(body) ?? body,
        () => {
          this.#hasArrived = true;
          this.#advance();
        },
      );
    } catch (error) {
      this.#finish(error);
      return;
    }
    this.#deadline = clock.startTimer(CALL_MS_MAX, () => {
      this.#isOverdue = true;
      this.#stream?.close();
    });
    this.#signal.addEventListener('abort', this.#abort, { once: true });
  }

  readonly #abort = (): void => this.#stream?.close();

  /** Called when somebody waits, and when something has arrived: goes on when both is so. */
  #advance(): void {
    if (this.#taker === null || this.#isReading) return;
    if (this.#outcome !== null) this.#give(this.#builder.take());
    else if (this.#stream !== null) {
      this.#isReading = true;
      let deltas: Deltas;
      do {
        this.#hasArrived = false;
        deltas = this.#read(this.#stream);
      } while (deltas.length === 0 && this.#outcome === null && this.#hasArrived);
      this.#isReading = false;
      this.#give(deltas);
    }
  }

  /** What was read goes out before the way it ended. */
  #give(deltas: Deltas): void {
    const taker = this.#taker;
    if (taker === null || (deltas.length === 0 && this.#outcome === null)) return;
    this.#taker = null;
    if (deltas.length > 0) {
      taker.item(deltas);
      return;
    }
    const fault = this.#outcome?.fault ?? null;
    this.#outcome = { fault: null };
    if (fault === null) taker.end();
    else taker.fail(fault);
  }

  #read(stream: EventStream): Deltas {
    try {
      const payloads = takePayloads(stream, this.#builder);
      let isOver = payloads === null;
      for (const payload of this.#signal.aborted ? [] : (payloads ?? [])) {
        if (payload === END_OF_STREAM) isOver = true;
        else readChunk(payload, this.#builder);
      }
      if (this.#signal.aborted) return this.#dropped(); // D2
      if (!isOver) return this.#builder.take();
      stream.leave();
      this.#finish(null);
      return this.#builder.end();
    } catch (error) {
      if (this.#signal.aborted) return this.#dropped(); // D2
      const { connection } = this.#request;
      const cause = this.#isOverdue ? new OverdueAnswer(CALL_MS_MAX) : error; // D3
      const { begun } = this.#builder;
      this.#finish(faultOf(cause, { connection, begun, nowMs: this.#tools.clock.nowMs() }));
      return this.#builder.take();
    }
  }

  #dropped(): Deltas {
    this.#finish(null);
    this.#builder.take();
    return [];
  }

  #finish(fault: unknown): void {
    this.#outcome = { fault };
    this.#deadline?.cancel();
    this.#signal.removeEventListener('abort', this.#abort);
    this.#stream?.close();
  }
}

/** Null at the end of a complete answer. A connection that breaks after the finish reason has lost nothing but usage. */
function takePayloads(stream: EventStream, builder: CompletionBuilder): readonly string[] | null {
  try {
    const payloads = stream.take();
    if (payloads === null && !builder.finished) throw new UnfinishedAnswer('no finish reason');
    return payloads;
  } catch (error) {
    if (builder.finished) return null;
    throw error;
  }
}

/** What is read of a chunk; every member may be missing or of another type. */
interface Chunk {
  readonly error?: unknown;
  readonly usage?: unknown;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: unknown;
      readonly reasoning_content?: unknown;
      readonly reasoning?: unknown;
      readonly tool_calls?: unknown;
    };
    readonly finish_reason?: unknown;
  }[];
}

function readChunk(payload: string, builder: CompletionBuilder): void {
  const chunk = parseChunk(payload);
  if (chunk.error !== undefined && chunk.error !== null) throw new ReportedError(chunk);
  const usage = usageOf(chunk.usage);
  if (usage !== null) builder.setUsage(usage);
  const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
  if (choice === undefined) return;
  const delta = choice.delta ?? {};
  // Providers that send both names send the same text twice.
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (typeof reasoning === 'string') builder.addReasoning(reasoning);
  if (typeof delta.content === 'string') builder.addText(delta.content);
  if (Array.isArray(delta.tool_calls)) {
    for (const fragment of delta.tool_calls) readToolFragment(fragment, builder);
  }
  if (typeof choice.finish_reason === 'string') builder.setFinish(finishReason(choice.finish_reason));
}

function parseChunk(payload: string): Chunk {
  let chunk: unknown;
  try {
    chunk = JSON.parse(payload);
  } catch {
    throw new MalformedAnswer('a chunk of its stream is no JSON');
  }
  if (typeof chunk !== 'object' || chunk === null)
    throw new MalformedAnswer('a chunk of its stream is no object');
  return chunk as Chunk;
}

function readToolFragment(fragment: unknown, builder: CompletionBuilder): void {
  if (typeof fragment !== 'object' || fragment === null)
    throw new MalformedAnswer('a tool call is no object');
  const { index, id, function: called } = fragment as Record<string, unknown>;
  const { name, arguments: sent } = (typeof called === 'object' && called !== null ? called : {}) as Record<
    string,
    unknown
  >;
  const fits = builder.addToolFragment({
    index: typeof index === 'number' ? index : null,
    id: typeof id === 'string' && id !== '' ? id : null,
    name: typeof name === 'string' && name !== '' ? name : null,
    // A few servers send the parsed object instead of its text.
    argumentsText: typeof sent === 'string' ? sent : sent == null ? '' : JSON.stringify(sent),
  });
  if (!fits) throw new MalformedAnswer(`more than ${TOOL_CALLS_PER_ANSWER_MAX} tool calls`);
}

function finishReason(reason: string): FinishReason {
  switch (reason) {
    case 'length':
      return 'length';
    case 'tool_calls':
    case 'function_call':
      return 'tool_calls';
    case 'error':
      return 'error';
    default:
      return 'stop';
  }
}

function usageOf(value: unknown): ReportedUsage | null {
  if (typeof value !== 'object' || value === null) return null;
  const usage = value as Record<string, unknown>;
  const details = (usage.completion_tokens_details ?? {}) as Record<string, unknown>;
  const input = (usage.prompt_tokens_details ?? {}) as Record<string, unknown>;
  const cost = Number(usage.cost ?? Number.NaN);
  return {
    inputTokens: count(usage.prompt_tokens),
    cacheReadTokens: count(input.cached_tokens),
    // OpenRouter says it where the model behind it does.
    cacheWriteTokens: count(input.cache_write_tokens),
    outputTokens: count(usage.completion_tokens),
    reasoningTokens: count(details.reasoning_tokens),
    billedUsd: Number.isFinite(cost) ? cost : null,
  };
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
