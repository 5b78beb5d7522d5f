// The provider double's chat-completions dialect: a reply as stream chunks and as one blocking answer.

import type { Step } from './provider-double-player.ts';
import {
  argumentPieces,
  type CompletionBody,
  cut,
  type Reply,
  textChunks,
  wordCount,
} from './provider-double-script.ts';

export function openaiSteps(reply: Reply, body: CompletionBody): Step[] {
  const steps: Step[] = [];
  const delayMs = reply.chunkDelayMs ?? 0;
  let atMs = reply.firstDelayMs ?? delayMs;
  let chunks = 0;
  const model = body.model ?? 'double-1';
  const head = `data: {"id":"chatcmpl-double","object":"chat.completion.chunk","created":1700000000,"model":${JSON.stringify(model)},`;
  const frame = (delta: object, finishReason: string | null = null): string =>
    `${head}"choices":[{"index":0,"delta":${JSON.stringify(delta)},"finish_reason":${JSON.stringify(finishReason)}}]}\n\n`;
  const send = (text: string): void => {
    steps.push({ kind: 'send', atMs, frame: text });
  };
  /** Counts as a chunk: it is paced, and faults are placed by it. True when a fault ends the stream here. */
  const chunk = (text: string): boolean => {
    if (faultAt(chunks)) return true;
    send(text);
    chunks += 1;
    atMs += delayMs;
    return false;
  };
  const faultAt = (index: number): boolean => {
    const fault = reply.fault;
    if (fault === undefined || !('afterChunks' in fault) || fault.afterChunks !== index) return false;
    switch (fault.kind) {
      case 'cut':
        steps.push({ kind: 'cut', atMs });
        return true;
      case 'stall':
        steps.push({ kind: 'stall', atMs });
        return false;
      case 'malformed':
        send('data: {"choices":[{"delta":{"content":"bro\n\n');
        return false;
      case 'error_event':
        send(`data: ${JSON.stringify({ error: { message: fault.message, code: 502 } })}\n\n`);
        return true;
    }
  };

  send(frame({ role: 'assistant', content: '' }));
  const field = reply.reasoningField ?? 'reasoning_content';
  for (const piece of cut(reply.reasoning ?? '', reply.chunkChars ?? 16)) {
    if (chunk(frame({ [field]: piece }))) return steps;
  }
  for (const piece of textChunks(reply)) {
    if (chunk(frame({ content: piece }))) return steps;
  }
  for (const delta of toolDeltas(reply)) {
    if (chunk(frame({ tool_calls: [delta] }))) return steps;
  }
  if (faultAt(chunks)) return steps;
  if (reply.finishReason === null) return steps;
  send(frame({}, finishReason(reply)));
  if (reply.fault?.kind === 'cut_after_finish') {
    steps.push({ kind: 'cut', atMs });
    return steps;
  }
  const usage = usageOf(reply, body);
  if (usage !== null && body.stream_options?.include_usage === true) {
    send(`${head}"choices":[],"usage":${JSON.stringify(usage)}}\n\n`);
  }
  send('data: [DONE]\n\n');
  return steps;
}

export function openaiAnswer(reply: Reply, body: CompletionBody): object {
  const toolCalls = (reply.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: argumentPieces(call, 1)[0] ?? '' },
  }));
  return {
    id: 'chatcmpl-double',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: body.model ?? 'double-1',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: textChunks(reply).join(''),
          ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
        },
        finish_reason: finishReason(reply),
      },
    ],
    usage: usageOf(reply, body),
  };
}

export function openaiModels(list: readonly (string | Readonly<Record<string, unknown>>)[]): object {
  return {
    object: 'list',
    data: list.map((entry) =>
      typeof entry === 'string'
        ? { id: entry, object: 'model', created: 1_700_000_000, owned_by: 'double' }
        : entry,
    ),
  };
}

const EMBEDDING_WIDTH = 8;

/** A vector counts the letters of its text, by what is left of their codes; as long as that makes it. The last comes first. */
export function openaiEmbeddings({ input, model, dimensions }: CompletionBody): object {
  const texts = (Array.isArray(input) ? input : [input]).map(String);
  const data = texts.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: letterCounts(text).slice(0, typeof dimensions === 'number' ? dimensions : EMBEDDING_WIDTH),
  }));
  const tokens = wordCount(texts.join(' '));
  return {
    object: 'list',
    data: data.reverse(),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

export function letterCounts(text: string): number[] {
  const counts = new Array<number>(EMBEDDING_WIDTH).fill(0.5);
  for (let at = 0; at < text.length; at += 1) {
    const place = text.charCodeAt(at) % EMBEDDING_WIDTH;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

export function openaiError(status: number, message: string, code: string | null): object {
  return {
    error: { message, type: status === 429 ? 'rate_limit_error' : 'server_error', code, param: null },
  };
}

/** Call by call the head, then the pieces of all calls in turn, as providers that call in parallel send them. */
function toolDeltas(reply: Reply): object[] {
  const calls = reply.toolCalls ?? [];
  const heads = calls.map((call, index) => ({
    index,
    ...(call.id === null ? {} : { id: call.id ?? `call_${index}` }),
    type: 'function',
    function: { name: call.name, arguments: '' },
  }));
  const pieces = calls.map((call) => argumentPieces(call, reply.toolFragments ?? 1));
  const longest = Math.max(0, ...pieces.map((list) => list.length));
  const rest: object[] = [];
  for (let round = 0; round < longest; round += 1) {
    pieces.forEach((list, index) => {
      const piece = list[round];
      if (piece !== undefined) rest.push({ index, function: { arguments: piece } });
    });
  }
  return [...heads, ...rest];
}

function finishReason(reply: Reply): string {
  return reply.finishReason ?? ((reply.toolCalls ?? []).length > 0 ? 'tool_calls' : 'stop');
}

function usageOf(reply: Reply, body: CompletionBody): object | null {
  if (reply.usage === null) return null;
  const input = wordCount(JSON.stringify(body.messages ?? []));
  const output = wordCount(textChunks(reply).join(''));
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...reply.usage };
}
