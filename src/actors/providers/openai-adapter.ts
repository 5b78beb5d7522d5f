// Chat-completions adapter: OpenAI, OpenRouter, the Vercel gateway, LM Studio and every endpoint that speaks their protocol.

import { type Adapter, CALL_MS_MAX } from './adapter.ts';
import { buildCompletion, type CompletionBuilder } from './completion-builder.ts';
import { isReasoningModel } from './model-families.ts';
import type { ReportedUsage } from './pricing.ts';
import type { CompletionRequest, Connection, FinishReason, ModelMessage, Sampling } from './protocol.ts';
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

export const completeWithOpenai: Adapter = async function* (request, { transport, clock, random }, signal) {
  const { connection } = request;
  if (signal.aborted) return;
  const builder = buildCompletion(random, request.price);
  const stream = transport.post(connection, '/chat/completions', openaiHeaders(connection), bodyOf(request));
  const close = (): void => stream.close();
  let isOverdue = false;
  const deadline = clock.startTimer(CALL_MS_MAX, () => {
    isOverdue = true;
    close();
  });
  signal.addEventListener('abort', close, { once: true });
  try {
    for (;;) {
      await stream.arrived();
      const payloads = takePayloads(stream, builder);
      if (payloads === null || signal.aborted) break;
      let isOver = false;
      for (const payload of payloads) {
        if (payload === END_OF_STREAM) isOver = true;
        else readChunk(payload, builder);
      }
      if (isOver) break;
      const deltas = builder.take();
      if (deltas.length > 0) yield deltas;
    }
    if (signal.aborted) return; // D2
    stream.leave();
    yield builder.end();
  } catch (error) {
    if (signal.aborted) return; // D2
    const rest = builder.take();
    if (rest.length > 0) yield rest;
    const cause = isOverdue ? new OverdueAnswer(CALL_MS_MAX) : error; // D3
    throw faultOf(cause, { connection, begun: builder.begun, nowMs: clock.nowMs() });
  } finally {
    deadline.cancel();
    signal.removeEventListener('abort', close);
    stream.close();
  }
};

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

export function openaiHeaders(connection: Connection): Readonly<Record<string, string>> {
  return {
    ...(connection.apiKey === null ? {} : { authorization: `Bearer ${connection.apiKey}` }),
    ...connection.headers,
  };
}

function bodyOf(request: CompletionRequest): object {
  const { connection, modelId, tools, maxOutputTokens, responseFormat } = request;
  // OpenAI's own models take no `max_tokens` any more. Other servers know only the old name.
  const limit = connection.provider === 'openai' ? 'max_completion_tokens' : 'max_tokens';
  return {
    model: modelId,
    messages: request.messages.map(wireMessage),
    stream: true,
    stream_options: { include_usage: true },
    ...(isReasoningModel(modelId) ? {} : wireSampling(request)),
    ...(maxOutputTokens === null ? {} : { [limit]: maxOutputTokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...wireToolChoice(request),
    ...(request.stop === undefined ? {} : { stop: request.stop }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(responseFormat === undefined ? {} : { response_format: responseFormat }),
    // OpenRouter reports what it billed only when it is asked to.
    ...(connection.kind === 'openrouter' ? { usage: { include: true } } : {}),
  };
}

function wireToolChoice({ toolChoice, parallelToolCalls }: CompletionRequest): object {
  return {
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: toolChoice },
        }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

/** Reasoning models take none of it. What says nothing is left out: not every server knows every name. */
function wireSampling({
  temperature,
  topP = 1,
  frequencyPenalty = 0,
  presencePenalty = 0,
}: Sampling): object {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(frequencyPenalty === 0 ? {} : { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty === 0 ? {} : { presence_penalty: presencePenalty }),
  };
}

function wireMessage(message: ModelMessage): object {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, name: message.name, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return { role: 'assistant', content: message.content };
      return {
        role: 'assistant',
        content: message.content === '' ? null : message.content,
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          // Servers parse the arguments of earlier calls too: what was broken goes back as an empty object.
          function: { name: call.name, arguments: JSON.stringify(call.arguments ?? {}) },
        })),
      };
    }
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
