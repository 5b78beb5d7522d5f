// ServerCall: one call of a tool of an MCP server, from the model's arguments to its answer.
// S1 A call reaches the server at most once: it is made a second time only when the first found no connection, after one try to
//    connect again.
// S2 Whoever leaves the stream cancels the call at the server.

import { type Fault, isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { mcp, type OfferedServerTool } from '../mcp/protocol.ts';
import { type McpProgress, type McpToolResult, mcpSession, sessionName } from '../mcp-sessions/protocol.ts';
import type { ToolCall, ToolCallItem } from './protocol.ts';
import { storedMedia } from './server-media.ts';
import { readResult } from './server-result.ts';
import { errorAnswer, isError, type ToolAnswer } from './tool.ts';

type Progress = Extract<ToolCallItem, { kind: 'progress' }>;

/** People read it; a server may report far oftener. */
const PROGRESS_EVERY_MS = 250;
const MESSAGE_CHARS_MAX = 200;
/** Nothing of the call has reached the server. */
const UNSENT: ReadonlySet<string> = new Set(['mcp_connect_failed', 'actor_unavailable']);
/** A server may take long to come up; the session's own patience ends it sooner. */
const RECONNECT_DEADLINE_MS = 120_000;

/** Never throws: what goes wrong is an answer for the model. */
export async function* callServerTool(
  context: ActorContext,
  tool: OfferedServerTool,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<Progress, ToolAnswer> {
  try {
    const result = yield* reconnecting(context, tool, call, signal);
    const { pieces, isError: hasFailed } = readResult(result);
    const { texts, exhibits } = await storedMedia(context, pieces, call, tool.label);
    const content = texts.join('\n');
    // The wire tells a failure by the beginning of its content.
    return { content: hasFailed && !isError(content) ? `Error: ${content}` : content, exhibits };
  } catch (error) {
    if (!isFault(error)) throw error;
    return errorAnswer(sentenceOn(error, tool));
  }
}

/** S1. */
async function* reconnecting(
  context: ActorContext,
  tool: OfferedServerTool,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<Progress, McpToolResult> {
  try {
    return yield* attempt(context, tool, call, signal);
  } catch (error) {
    if (!isFault(error) || !UNSENT.has(error.code)) throw error;
  }
  yield { kind: 'progress', message: `Connecting to ${tool.server} again…`, progress: null };
  await context.ask(mcp, 'reconnect', { server: tool.server }, { signal, deadlineMs: RECONNECT_DEADLINE_MS });
  return yield* attempt(context, tool, call, signal);
}

async function* attempt(
  context: ActorContext,
  tool: OfferedServerTool,
  call: ToolCall,
  signal: AbortSignal,
): AsyncGenerator<Progress, McpToolResult> {
  const session = context.named(mcpSession, sessionName(tool.server));
  const request = { tool: tool.tool, arguments: withoutIdleNulls(call.arguments, tool) };
  let toldMs = Number.NEGATIVE_INFINITY;
  for await (const item of session.stream('call', request, { signal })) {
    if (item.kind === 'result') return item;
    const nowMs = context.clock.monotonicMs();
    if (nowMs - toldMs < PROGRESS_EVERY_MS) continue;
    toldMs = nowMs;
    yield progressOf(item);
  }
  throw new Error('a session ended a call without a result');
}

function progressOf({ progress, total, message }: McpProgress): Progress {
  const ratio = total === null || total <= 0 ? null : Math.min(1, Math.max(0, progress / total));
  return {
    kind: 'progress',
    message: message?.trim().slice(0, MESSAGE_CHARS_MAX).toWellFormed() || null,
    progress: ratio,
  };
}

/** Models send null for what they leave out; servers seldom take it. */
function withoutIdleNulls(
  given: Readonly<Record<string, unknown>>,
  { parameters }: OfferedServerTool,
): Readonly<Record<string, unknown>> {
  const required = parameters['required'];
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== null || isRequired(name)),
  );
}

function sentenceOn(fault: Fault, { label, server }: OfferedServerTool): string {
  switch (fault.code) {
    case 'ask_cancelled':
      return `${label} was stopped before it was done`;
    case 'actor_unavailable':
      return `The MCP server ${server} is not connected`;
    default:
      return `${label} failed: ${fault.message}`;
  }
}
