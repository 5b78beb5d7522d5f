// Settlement: what becomes of a run whose actor is gone, decided from its journal alone.
// S1 What the readers have seen is kept: the text so far becomes the interrupted answer, finished tools keep their rows.
// S2 A journal that says `done` was finished, whatever was lost after it; one without an end gets one, with the reason.

import type { NewRow } from '../conversations/protocol.ts';
import { type DoneEvent, EXHIBIT_TOOL, type JournaledEvent, type RunEvents } from './events.ts';
import { AGENT_NAME_DEFAULT, type ChatReply, type RunOutcome, type RunStatus } from './protocol.ts';
import type { RunRecord } from './store.ts';
import { Transcript } from './transcript.ts';

export interface Settlement {
  readonly status: Exclude<RunStatus, 'running'>;
  /** Null when the rows were saved before `done` (R6), or when the turn is not stored. */
  readonly rows: readonly NewRow[] | null;
  /** To append, so that every journal ends with `close`. */
  readonly lastEvents: readonly JournaledEvent[];
}

export interface LostRun {
  readonly record: RunRecord;
  readonly events: readonly JournaledEvent[];
  /** Why it ended: cancelled by its user while nobody ran it, or failed for this reason. */
  readonly end: { readonly status: 'cancelled' } | { readonly status: 'failed'; readonly reason: string };
  readonly nowMs: number;
}

export function settleLostRun({ record, events, end, nowMs }: LostRun): Settlement {
  const names = new Set(events.map(([event]) => event));
  const close: readonly JournaledEvent[] = names.has('close') ? [] : [['close', '{}']];
  if (names.has('done')) return { status: 'done', rows: null, lastEvents: close };
  const rows = record.request.use_memory === false ? null : rowsOf(record, events, nowMs);
  if (names.has('error')) return { status: 'failed', rows, lastEvents: close };
  if (names.has('close') || end.status === 'cancelled')
    return { status: 'cancelled', rows, lastEvents: close };
  const error: JournaledEvent = ['error', JSON.stringify({ error: end.reason, code: 'run_lost' })];
  return { status: 'failed', rows, lastEvents: [error, ...close] };
}

/** How a settled run ended, as its actor would have reported it. */
export function outcomeOf(
  record: RunRecord,
  status: Settlement['status'],
  events: readonly JournaledEvent[],
): RunOutcome {
  const { run_id } = record;
  const error = lastOf(events, 'error');
  const done = lastOf(events, 'done');
  return {
    run_id,
    status,
    reply: done === null ? null : replyOf(record, events, done),
    error:
      status === 'failed'
        ? { code: error?.code ?? 'run_failed', message: error?.error ?? 'The turn failed' }
        : null,
  };
}

function replyOf(record: RunRecord, events: readonly JournaledEvent[], done: DoneEvent): ChatReply {
  const { answer } = transcriptOf(record, events);
  const tokens = done.tokens_input + done.tokens_output;
  return {
    task_id: done.task_id,
    status: 'complete',
    response: answer,
    answer,
    thinking: done.thinking,
    has_thinking: done.has_thinking,
    session_id: record.session_id,
    reasoning_trace: 0,
    reasoning_steps: 0,
    tokens_used: tokens,
    total_tokens: tokens,
    total_time_ms: done.total_time_ms,
  };
}

function lastOf<Name extends keyof RunEvents>(
  events: readonly JournaledEvent[],
  name: Name,
): RunEvents[Name] | null {
  const event = events.findLast(([said]) => said === name);
  return event === undefined ? null : (JSON.parse(event[1]) as RunEvents[Name]);
}

function rowsOf(record: RunRecord, events: readonly JournaledEvent[], nowMs: number): readonly NewRow[] {
  return transcriptOf(record, events).rows(nowMs, { interrupted: true, agent_name: AGENT_NAME_DEFAULT });
}

/** The transcript as far as the journal tells it. */
function transcriptOf(record: RunRecord, events: readonly JournaledEvent[]): Transcript {
  const transcript = new Transcript(record.request, record.createdAtMs);
  const calls = new Map<string, RunEvents['tool_call']>();
  let text = '';
  let goesOn = false;
  for (const [event, data] of events) {
    switch (event) {
      case 'status': {
        // Each call of the model begins with it, so that the texts come apart as they did in the turn.
        const { phase } = JSON.parse(data) as RunEvents['status'];
        if (phase === 'truncated') goesOn = true;
        if (phase !== 'thinking' || goesOn) break;
        transcript.wrote(text);
        text = '';
        break;
      }
      case 'chunk':
        goesOn = false;
        text += (JSON.parse(data) as RunEvents['chunk']).content;
        break;
      case 'tool_call': {
        const call = JSON.parse(data) as RunEvents['tool_call'];
        calls.set(call.tool_call_id, call);
        break;
      }
      case 'tool_result': {
        const result = JSON.parse(data) as RunEvents['tool_result'];
        const call = calls.get(result.tool_call_id);
        transcript.called(
          {
            tool: result.tool,
            toolCallId: result.tool_call_id,
            argumentsText: JSON.stringify(call?.arguments ?? {}),
            atMs: record.createdAtMs,
          },
          { content: result.content, success: result.success, durationMs: result.duration_ms },
        );
        break;
      }
      case 'exhibit': {
        const { id, title, layout, elements } = JSON.parse(data) as RunEvents['exhibit'];
        const argumentsText = JSON.stringify({ id, title, layout, elements });
        transcript.called(
          { tool: EXHIBIT_TOOL, toolCallId: id, argumentsText, atMs: record.createdAtMs },
          null,
        );
        break;
      }
      case 'steer': {
        const { id, message } = JSON.parse(data) as RunEvents['steer'];
        transcript.steered(
          { id, message, atMs: record.createdAtMs },
          0,
          transcript.toolNames,
          'tool_boundary',
        );
        break;
      }
      default:
        break;
    }
  }
  transcript.wrote(text);
  return transcript;
}
