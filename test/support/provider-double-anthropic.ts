// The provider double's messages dialect: a reply as named stream events. Only what the adapter under test reads.

import type { Step } from './provider-double-player.ts';
import {
  argumentPieces,
  type CompletionBody,
  cut,
  type Reply,
  textChunks,
  wordCount,
} from './provider-double-script.ts';

/** Under every thought. */
export const DOUBLE_SIGNATURE = 'signed-by-the-double';

export function anthropicSteps(reply: Reply, body: CompletionBody): Step[] {
  const steps: Step[] = [];
  const delayMs = reply.chunkDelayMs ?? 0;
  let atMs = reply.firstDelayMs ?? delayMs;
  let chunks = 0;
  let block = 0;
  let stopped = false;
  const send = (type: string, members: object): void => {
    if (stopped) return;
    steps.push({
      kind: 'send',
      atMs,
      frame: `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`,
    });
  };
  const applyFault = (): void => {
    const fault = reply.fault;
    if (fault === undefined || !('afterChunks' in fault) || fault.afterChunks !== chunks || stopped) return;
    switch (fault.kind) {
      case 'cut':
        steps.push({ kind: 'cut', atMs });
        stopped = true;
        return;
      case 'stall':
        steps.push({ kind: 'stall', atMs });
        return;
      case 'malformed':
        steps.push({
          kind: 'send',
          atMs,
          frame: 'event: content_block_delta\ndata: {"type":"content_bl\n\n',
        });
        return;
      case 'error_event':
        send('error', { error: { type: 'overloaded_error', message: fault.message } });
        stopped = true;
        return;
    }
  };
  const blockOf = (start: object, deltas: readonly object[], closing: readonly object[] = []): void => {
    send('content_block_start', { index: block, content_block: start });
    for (const delta of deltas) {
      applyFault();
      send('content_block_delta', { index: block, delta });
      chunks += 1;
      atMs += delayMs;
    }
    for (const delta of closing) send('content_block_delta', { index: block, delta });
    send('content_block_stop', { index: block });
    block += 1;
  };

  const input = wordCount(JSON.stringify(body.messages ?? []));
  const output = wordCount(textChunks(reply).join(''));
  send('message_start', {
    message: {
      id: 'msg_double',
      type: 'message',
      role: 'assistant',
      model: body.model ?? 'double-1',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: input, output_tokens: 1 },
    },
  });
  send('ping', {});
  if (reply.reasoning !== undefined) {
    const pieces = cut(reply.reasoning, reply.chunkChars ?? 16);
    blockOf(
      { type: 'thinking', thinking: '', signature: '' },
      pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
      [{ type: 'signature_delta', signature: DOUBLE_SIGNATURE }],
    );
  }
  if (textChunks(reply).length > 0) {
    blockOf(
      { type: 'text', text: '' },
      textChunks(reply).map((text) => ({ type: 'text_delta', text })),
    );
  }
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    blockOf(
      { type: 'tool_use', id: call.id ?? `toolu_${index}`, name: call.name, input: {} },
      argumentPieces(call, reply.toolFragments ?? 1).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
    );
  }
  applyFault();
  if (reply.finishReason === null) return steps;
  const stopReason = reply.finishReason ?? ((reply.toolCalls ?? []).length > 0 ? 'tool_use' : 'end_turn');
  send('message_delta', {
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: output, ...reply.usage },
  });
  send('message_stop', {});
  return steps;
}

export function anthropicModels(list: readonly (string | Readonly<Record<string, unknown>>)[]): object {
  const data = list.map((entry) =>
    typeof entry === 'string'
      ? { type: 'model', id: entry, display_name: entry, created_at: '2026-01-01T00:00:00Z' }
      : entry,
  );
  return { data, has_more: false, first_id: null, last_id: null };
}

export function anthropicError(status: number, message: string): object {
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'api_error' : 'invalid_request_error';
  return { type: 'error', error: { type, message } };
}
