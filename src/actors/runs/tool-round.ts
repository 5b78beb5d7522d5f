// ToolRound: the tool calls of one model answer, made side by side, told in the order of the wire:
// all calls first, then the results in the order of the calls. An exhibit shows itself instead of a tool card.
// Y1 A call is journaled before it is made: whoever finds the journal of a lost run knows what may have been done.
// Y2 A tool that takes long tells how far it is: as `status`, between its call and its result.

import { errorText } from '../../std/errors.ts';
import type { MediaRef, ModelMessage, ModelToolCall } from '../providers/protocol.ts';
import { type ToolCall, type ToolCaller, type ToolResult, tools as toolNoun } from '../tools/protocol.ts';
import { EXHIBIT_TOOL } from './events.ts';
import { checkNotStopped, type RoutedTurn } from './turn-scope.ts';
import type { TurnTools } from './turn-tools.ts';

/** More calls than this in one answer are refused: a model that asks for more has lost its way. */
const CALLS_PER_ROUND_MAX = 32;
const RESULT_EVENT_CHARS_MAX = 500;
/** A tool has its own, shorter deadline; this one only guards the wire. */
const TOOL_DEADLINE_MS = 330_000;

const IMAGES_SHOWN = '[The images that your tools show, in the order of the calls]';

/** Makes the calls; answers the messages that the next model call reads. @throws TurnStopped */
export async function runTools(
  turn: RoutedTurn,
  calls: readonly ModelToolCall[],
  caller: ToolCaller,
  tools: TurnTools,
): Promise<readonly ModelMessage[]> {
  const { say, transcript, context } = turn;
  checkNotStopped(turn);
  for (const call of calls) {
    if (call.name === EXHIBIT_TOOL) {
      say('status', { phase: 'running_tool', label: 'Presenting…' });
      continue;
    }
    const tool = tools.labelOf(call.name);
    say('status', { phase: 'running_tool', label: `Running ${tool}…` });
    say('tool_call', { tool, tool_call_id: call.id, arguments: call.arguments ?? {} });
  }
  await turn.journal.saved(); // Y1
  const startedAtMs = context.clock.nowMs();
  const results = await Promise.all(calls.map((call, i) => makeCall(turn, call, i, caller, tools)));
  const messages: ModelMessage[] = [];
  const images: MediaRef[] = [];
  for (const [i, call] of calls.entries()) {
    const result = results[i];
    if (result === undefined) continue;
    messages.push({ role: 'tool', content: result.content, toolCallId: call.id, name: call.name });
    const { exhibits = [], loaded = [] } = result;
    tools.load(loaded);
    images.push(...(result.images ?? []));
    const tool = tools.labelOf(call.name);
    const made = {
      tool,
      toolCallId: call.id,
      argumentsText: call.argumentsText || '{}',
      atMs: startedAtMs,
    };
    if (call.name === EXHIBIT_TOOL) {
      // A malformed exhibit is between the tool and the model: nothing is shown, nothing is stored.
      if (exhibits.length > 0) transcript.called(made, null);
    } else {
      transcript.called(made, result);
      say('tool_result', {
        tool,
        tool_call_id: call.id,
        content: result.content.slice(0, RESULT_EVENT_CHARS_MAX).toWellFormed(),
        success: result.success,
        duration_ms: Math.round(result.durationMs * 100) / 100,
      });
    }
    for (const exhibit of exhibits) say('exhibit', exhibit);
  }
  // Results are texts: what is to be seen comes behind all of them.
  if (images.length > 0) messages.push({ role: 'user', content: IMAGES_SHOWN, media: images });
  // A cancel during the tools keeps their results, but nothing follows them.
  checkNotStopped(turn);
  say('status', { phase: 'reading', label: 'Reading results…' });
  return messages;
}

/** Never rejects: what goes wrong is an answer for the model. */
async function makeCall(
  turn: RoutedTurn,
  call: ModelToolCall,
  index: number,
  caller: ToolCaller,
  tools: TurnTools,
): Promise<ToolResult> {
  if (index >= CALLS_PER_ROUND_MAX) {
    return failed(`at most ${CALLS_PER_ROUND_MAX} tool calls at once; this one was not made`);
  }
  if (call.arguments === null) return failed('the arguments are not a JSON object, or are nested too deeply');
  const { context, signal } = turn;
  const order = { tool: call.name, tool_call_id: call.id, arguments: call.arguments, caller };
  try {
    if (!tools.isOwn(call.name)) return await performCall(turn, order, tools.labelOf(call.name));
    return await context.ask(toolNoun, 'call', order, { signal, deadlineMs: TOOL_DEADLINE_MS });
  } catch (error) {
    return failed(errorText(error));
  }
}

/** Y2. @throws what the call could not be made for */
async function performCall(
  { context, signal, say }: RoutedTurn,
  order: ToolCall,
  label: string,
): Promise<ToolResult> {
  for await (const item of context.stream(toolNoun, 'perform', order, { signal })) {
    if (item.kind === 'result') return item.result;
    const { message, progress } = item;
    say('status', {
      phase: 'running_tool',
      label: message === null ? `Running ${label}…` : `${label}: ${message}`,
      ...(progress === null ? {} : { progress }),
    });
  }
  return failed(`${label} ended without a result`);
}

function failed(message: string): ToolResult {
  return { content: JSON.stringify({ error: message }), success: false, durationMs: 0 };
}
