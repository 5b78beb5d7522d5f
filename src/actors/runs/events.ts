// Events: what a run says to its readers, name by name, as the wire format has it.

import type { Exhibit } from '../tools/protocol.ts';

export type StatusPhase =
  | 'queued'
  | 'resumed'
  | 'suspended'
  | 'recalling'
  | 'composing'
  | 'thinking'
  | 'running_tool'
  | 'reading'
  | 'model_fallback'
  | 'truncated'
  | 'vision_unsupported'
  | 'transcribing'
  | 'audio_fallback';

export interface RunEvents {
  /** The project that the conversation is in, when the turn did not name one. */
  workspace_attached: { workspace_id: string };
  status: { phase: StatusPhase; label: string; detail?: string; progress?: number };
  start: {
    task_id: string;
    session_id: string;
    model: string;
    model_display_name: string;
    profile_name: string | null;
    agent_name: string;
    agent_id: string | null;
    context_window: number;
    max_output_tokens: number;
  };
  chunk: { content: string };
  tool_call: { tool: string; tool_call_id: string; arguments: Readonly<Record<string, unknown>> };
  tool_result: { tool: string; tool_call_id: string; content: string; success: boolean; duration_ms: number };
  exhibit: Exhibit;
  steer: { id: string; message: string };
  info: { type: 'tool_budget_exhausted' };
  done: DoneEvent;
  error: { error: string; code?: string };
  close: Record<string, never>;
}

export interface DoneEvent {
  task_id: string;
  thinking: string;
  has_thinking: boolean;
  total_time_ms: number;
  session_id: string;
  profile_name: string | null;
  agent_name: string;
  agent_id: string | null;
  model: string;
  provider: string;
  tokens_input: number;
  tokens_output: number;
  context_window: number;
  context_used: number;
  context_summarized: boolean;
  context_dropped_turns: number;
  cost_estimate: number | null;
  cost_currency: string | null;
  pricing_snapshot: { cost_per_1k_input: number; cost_per_1k_output: number } | null;
  cost_source: 'provider' | 'estimate' | null;
  tokens_reasoning: number;
  finish_reason: string | null;
  truncated: boolean;
  thinking_pattern: string | null;
  research: boolean;
}

/** Its calls are told as `exhibit` instead of as a tool card. */
export const EXHIBIT_TOOL = 'present_exhibit';

/** One event as it stands in the journal: its name and one line of JSON. */
export type JournaledEvent = readonly [event: string, data: string];

const QUIET: ReadonlySet<string> = new Set(['status', 'info', 'steer', 'start', 'workspace_attached']);

/** Said once more it would change nothing: no answer was shown by it, no tool was called. */
export function isQuiet([event]: JournaledEvent): boolean {
  return QUIET.has(event);
}

/** Says one event to the readers of the run. */
export type Say = <Name extends keyof RunEvents>(event: Name, payload: RunEvents[Name]) => void;
