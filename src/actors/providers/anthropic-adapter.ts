// Anthropic adapter: the messages API through its own SDK. The SDK makes the request (address, version, key, errors); the
// bytes of the answer go through our event decoder, so that batching, bounds and faults are those of every provider.
// The SDK is loaded with the first call: a run host whose users never use it does not pay for it.

import type { Anthropic } from '@anthropic-ai/sdk';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { type Adapter, CALL_MS_MAX } from './adapter.ts';
import { anthropicBody } from './anthropic-messages.ts';
import { buildCompletion, type CompletionBuilder } from './completion-builder.ts';
import { createEventDecoder } from './event-decoder.ts';
import type { Connection, FinishReason } from './protocol.ts';
import {
  faultOf,
  MalformedAnswer,
  OverdueAnswer,
  ReportedError,
  UnfinishedAnswer,
} from './provider-failure.ts';
import type { SentBody } from './request-media.ts';
import { collectThoughts } from './signed-thoughts.ts';
import { TOOL_CALLS_PER_ANSWER_MAX } from './tool-call-assembly.ts';
import type { Transport } from './transport.ts';

/** One client per connection, and a connection changes only with its settings. */
const CLIENTS_MAX = 8;

/** The client of a connection; also used to list its models. */
export async function anthropicClient(connection: Connection, transport: Transport): Promise<Anthropic> {
  const { Anthropic: Client } = await import('@anthropic-ai/sdk');
  return new Client({
    apiKey: connection.apiKey,
    // The SDK adds the version to the address itself.
    baseURL: connection.baseUrl.replace(/\/v1\/?$/, ''),
    defaultHeaders: connection.headers,
    timeout: connection.timeoutMs,
    maxRetries: 0,
    logLevel: 'off',
    fetch: transport.fetch(connection),
  });
}

export function createAnthropicAdapter(): Adapter {
  const clients = new Map<string, Promise<Anthropic>>();

  const clientOf = (connection: Connection, transport: Transport): Promise<Anthropic> => {
    const key = JSON.stringify(connection);
    let client = clients.get(key);
    if (client === undefined) {
      const [oldest] = clients.keys();
      if (clients.size >= CLIENTS_MAX && oldest !== undefined) clients.delete(oldest);
      client = anthropicClient(connection, transport);
      clients.set(key, client);
    }
    return client;
  };

  return async function* (request, { transport, clock, random, media }, signal) {
    const { connection } = request;
    const builder = buildCompletion(random, request.price);
    const usage = createUsage();
    const thoughts = collectThoughts();
    const call = new AbortController();
    const stop = (): void => call.abort();
    let isOverdue = false;
    const deadline = clock.startTimer(CALL_MS_MAX, () => {
      isOverdue = true;
      stop();
    });
    signal.addEventListener('abort', stop, { once: true });
    try {
      const client = await clientOf(connection, transport);
      if (signal.aborted) return;
      const body = anthropicBody(request, media);
      const answer = client.messages.create(body, {
        signal: call.signal,
        ...sentInstead(media.bodyOf(body)),
      });
      const response = await answer.asResponse();
      try {
        for await (const payloads of payloadsOf(response, call.signal)) {
          for (const payload of payloads) {
            const event = parseEvent(payload);
            if (event.type !== 'error') thoughts.see(event);
            readEvent(event, builder, usage);
          }
          const deltas = builder.take();
          if (deltas.length > 0) yield deltas;
        }
      } catch (error) {
        // Behind its stop reason an answer has nothing to lose.
        if (!builder.finished) throw error;
      }
      if (signal.aborted) return; // D2
      if (!builder.finished) throw new UnfinishedAnswer('no stop reason');
      builder.setUsage(usage.total());
      builder.setThoughts(thoughts.thoughts());
      yield builder.end();
    } catch (error) {
      if (signal.aborted) return; // D2
      const rest = builder.take();
      if (rest.length > 0) yield rest;
      const cause = isOverdue ? new OverdueAnswer(CALL_MS_MAX) : error; // D3
      throw faultOf(cause, { connection, begun: builder.begun, nowMs: clock.nowMs() });
    } finally {
      deadline.cancel();
      signal.removeEventListener('abort', stop);
    }
  };
}

/** The same request, its slots filled on the way. The SDK hands on what `fetch` is to take instead, though its types do not say so. */
function sentInstead(sent: SentBody | null): object {
  if (sent === null) return {};
  return {
    headers: { 'content-length': String(sent.bytes) },
    fetchOptions: { body: sent.pieces, duplex: 'half' },
  };
}

async function* payloadsOf(response: Response, signal: AbortSignal): AsyncGenerator<readonly string[]> {
  if (response.body === null) throw new UnfinishedAnswer('no body');
  const decoder = createEventDecoder();
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  try {
    for (;;) {
      const piece = await reader.read();
      if (piece.done) return;
      yield decoder.feed(piece.value);
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

type StreamEvent = RawMessageStreamEvent | { readonly type: 'error' };

function parseEvent(payload: string): StreamEvent {
  try {
    const event = JSON.parse(payload);
    if (typeof event?.type === 'string') return event;
  } catch {
    // Falls through to the one sentence for both.
  }
  throw new MalformedAnswer('an event of its stream is no object with a type');
}

function readEvent(event: StreamEvent, builder: CompletionBuilder, usage: UsageCount): void {
  switch (event.type) {
    // A compatible server may leave out members that the SDK's types promise.
    case 'error':
      throw new ReportedError(event);
    case 'message_start':
      usage.see(event.message?.usage);
      return;
    case 'content_block_start':
      if (event.content_block?.type === 'tool_use') {
        const { id, name } = event.content_block;
        add(builder, { index: event.index, id, name, argumentsText: '' });
      }
      return;
    case 'content_block_delta':
      if (event.delta?.type === 'text_delta') builder.addText(event.delta.text);
      if (event.delta?.type === 'thinking_delta') builder.addReasoning(event.delta.thinking);
      if (event.delta?.type === 'input_json_delta') {
        const argumentsText = event.delta.partial_json;
        add(builder, { index: event.index, id: null, name: null, argumentsText });
      }
      return;
    case 'message_delta':
      usage.see(event.usage);
      if (event.delta?.stop_reason != null) builder.setFinish(finishReason(event.delta.stop_reason));
      return;
    case 'content_block_stop':
    case 'message_stop':
      return;
  }
}

function add(
  builder: CompletionBuilder,
  fragment: Parameters<CompletionBuilder['addToolFragment']>[0],
): void {
  if (!builder.addToolFragment(fragment)) {
    throw new MalformedAnswer(`more than ${TOOL_CALLS_PER_ANSWER_MAX} tool calls`);
  }
}

function finishReason(reason: string): FinishReason {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'tool_use':
      return 'tool_calls';
    default:
      return 'stop';
  }
}

interface ReportedUsage {
  readonly input_tokens: number | null;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly output_tokens_details?: { readonly thinking_tokens?: number | null } | null;
}

interface UsageCount {
  see(reported: ReportedUsage | undefined): void;
  total(): Parameters<CompletionBuilder['setUsage']>[0];
}

/** The counts are cumulative, and the first event has the input's: the latest of each is kept. */
function createUsage(): UsageCount {
  let plainTokens = 0;
  let cacheReadTokens = 0;
  let cacheWriteTokens = 0;
  let outputTokens = 0;
  let reasoningTokens = 0;
  return {
    see(reported) {
      if (reported === undefined) return;
      plainTokens = reported.input_tokens ?? plainTokens;
      cacheReadTokens = reported.cache_read_input_tokens ?? cacheReadTokens;
      cacheWriteTokens = reported.cache_creation_input_tokens ?? cacheWriteTokens;
      outputTokens = reported.output_tokens ?? outputTokens;
      reasoningTokens = reported.output_tokens_details?.thinking_tokens ?? reasoningTokens;
    },
    total: () => ({
      // The API counts what is neither read from its cache nor written to it.
      inputTokens: plainTokens + cacheReadTokens + cacheWriteTokens,
      cacheReadTokens,
      cacheWriteTokens,
      outputTokens,
      reasoningTokens,
      billedUsd: null,
    }),
  };
}
