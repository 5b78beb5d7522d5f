// Transcript: the rows of one turn, gathered while it runs, in the order in which they are stored:
// the user's message, tool calls with their results, steers, the answer.
// A1 Thoughts are never stored. An empty answer is not stored. What was streamed to the user is.

import type { NewRow } from '../conversations/protocol.ts';
import type { ToolResult } from '../tools/protocol.ts';
import type { Steer } from './steering.ts';
import { splitThinking } from './think-tags.ts';

const TOOL_RESULT_STORED_CHARS_MAX = 2_000;

export interface ToolCallMade {
  readonly tool: string;
  readonly toolCallId: string;
  readonly argumentsText: string;
  readonly atMs: number;
}

export class Transcript {
  readonly #user: NewRow;
  readonly #toolRows: NewRow[] = [];
  readonly #steerRows: NewRow[] = [];
  /** What the model wrote, one text for each of its calls that wrote something. */
  readonly #texts: string[] = [];
  readonly #toolNames: string[] = [];

  constructor(message: string, atMs: number, metadata: Readonly<Record<string, unknown>>) {
    this.#user = { role: 'user', content: message, atMs, ...withMetadata(metadata) };
  }

  get toolNames(): readonly string[] {
    return this.#toolNames;
  }

  get answer(): string {
    return this.#split('answer');
  }

  get thinking(): string {
    return this.#split('thinking');
  }

  wrote(text: string): void {
    if (text.trim() !== '') this.#texts.push(text);
  }

  called(call: ToolCallMade, result: ToolResult | null): void {
    const { tool, toolCallId: tool_call_id, atMs } = call;
    this.#toolNames.push(tool);
    this.#toolRows.push({ role: 'tool_call', content: call.argumentsText, atMs, metadata: { tool, tool_call_id } });
    if (result === null) return;
    this.#toolRows.push({
      role: 'tool_result',
      content: result.content.slice(0, TOOL_RESULT_STORED_CHARS_MAX),
      atMs: atMs + result.durationMs,
      metadata: { tool, tool_call_id, success: result.success, duration_ms: result.durationMs },
    });
  }

  steered(steer: Steer, round: number, afterTools: readonly string[], phase: 'tool_boundary' | 'would_end'): void {
    this.#steerRows.push({
      role: 'user',
      content: steer.message,
      atMs: steer.atMs,
      metadata: { steered: true, steer_round: round, after_tools: afterTools, phase },
    });
  }

  rows(atMs: number, answerMetadata: Readonly<Record<string, unknown>>): readonly NewRow[] {
    const { answer } = this;
    const answerRows: NewRow[] =
      answer === '' ? [] : [{ role: 'assistant', content: answer, atMs, metadata: answerMetadata }];
    return [this.#user, ...this.#toolRows, ...this.#steerRows, ...answerRows];
  }

  #split(part: 'answer' | 'thinking'): string {
    return this.#texts
      .map((text) => splitThinking(text)[part])
      .filter((text) => text !== '')
      .join('\n\n');
  }
}

function withMetadata(metadata: Readonly<Record<string, unknown>>): { metadata?: Readonly<Record<string, unknown>> } {
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}
