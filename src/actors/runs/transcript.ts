// Transcript: the rows of one turn, gathered while it runs, in the order in which they are stored:
// the user's message, tool calls with their results, steers, the answer.
// A1 Thoughts are never stored. An empty answer is not stored. What was streamed to the user is.
// A2 A turn has fewer rows than a conversation takes at once: calls beyond TOOL_CALLS_KEPT_MAX are made and not kept.
// A3 What `takeGain` took makes the same transcript again, restored in order.

import type { NewRow } from '../conversations/protocol.ts';
import type { ToolResult } from '../tools/protocol.ts';
import { type Attachments, attachmentMetadata, attachmentsOf } from './attachments.ts';
import type { ChatRequest, Steer } from './protocol.ts';
import { splitThinking } from './think-tags.ts';

const TOOL_RESULT_STORED_CHARS_MAX = 2_000;
/** Two rows each. Ninety rounds of ten calls: whoever reads a transcript has stopped long before. */
const TOOL_CALLS_KEPT_MAX = 900;

/** One for all turns without recordings. */
const NOTHING_HEARD: readonly (readonly [string, string])[] = [];

export interface ToolCallMade {
  readonly tool: string;
  readonly toolCallId: string;
  readonly argumentsText: string;
  readonly atMs: number;
}

/** What a transcript gained between two steps of its turn. */
export interface TranscriptGain {
  readonly toolRows: readonly NewRow[];
  readonly steerRows: readonly NewRow[];
  readonly toolNames: readonly string[];
  /** The texts from number `textsFrom` on: the last one may have grown. */
  readonly textsFrom: number;
  readonly texts: readonly string[];
  readonly goesOn: boolean;
  /** What recordings were found to say, by document. */
  readonly heard?: Readonly<Record<string, string>>;
}

export class Transcript {
  readonly #user: NewRow;
  readonly #attachments: Attachments;
  readonly #toolRows: NewRow[] = [];
  readonly #steerRows: NewRow[] = [];
  /** What the model wrote, one text for each of its calls that wrote something. */
  readonly #texts: string[] = [];
  readonly #toolNames: string[] = [];
  #goesOn = false;
  /** What recordings were found to say, by document. */
  #heard: readonly (readonly [documentId: string, text: string])[] = NOTHING_HEARD;
  /** What `takeGain` has taken so far. */
  #taken = { toolRows: 0, steerRows: 0, toolNames: 0, texts: 0, heard: 0 };

  constructor(request: ChatRequest, atMs: number) {
    this.#user = { role: 'user', content: request.message ?? '', atMs };
    this.#attachments = attachmentsOf(request);
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

  /** Closes the thought in which the last text stops; empty when it stops in none. */
  get closing(): string {
    return splitThinking(this.#texts.at(-1) ?? '').closing;
  }

  /** What is said in a recording of the message. */
  heard(documentId: string, text: string): void {
    this.#heard = [...this.#heard, [documentId, text]];
  }

  /** Found out in this turn, or known before; undefined for neither. */
  transcriptOf(documentId: string): string | undefined {
    const sent = this.#attachments.audio.find(({ doc_id }) => doc_id === documentId);
    const found = this.#heard.find(([id]) => id === documentId);
    return found?.[1] ?? (sent?.transcript || undefined);
  }

  wrote(text: string): void {
    if (text === '') return;
    const last = this.#texts.length - 1;
    if (this.#goesOn && last >= 0) this.#texts[last] += text;
    else if (text.trim() !== '') this.#texts.push(text);
    this.#goesOn = false;
  }

  /** What is written next goes on where the last text stopped, without a break. */
  goOn(): void {
    this.#goesOn = true;
  }

  called(call: ToolCallMade, result: ToolResult | null): void {
    const { tool, toolCallId: tool_call_id, atMs } = call;
    this.#toolNames.push(tool);
    if (this.#toolNames.length > TOOL_CALLS_KEPT_MAX) return; // A2
    this.#toolRows.push({
      role: 'tool_call',
      content: call.argumentsText,
      atMs,
      metadata: { tool, tool_call_id },
    });
    if (result === null) return;
    this.#toolRows.push({
      role: 'tool_result',
      content: result.content.slice(0, TOOL_RESULT_STORED_CHARS_MAX).toWellFormed(),
      atMs: atMs + result.durationMs,
      metadata: { tool, tool_call_id, success: result.success, duration_ms: result.durationMs },
    });
  }

  steered(
    steer: Steer,
    round: number,
    afterTools: readonly string[],
    phase: 'tool_boundary' | 'would_end',
  ): void {
    this.#steerRows.push({
      role: 'user',
      content: steer.message,
      atMs: steer.atMs,
      metadata: { steered: true, steer_round: round, after_tools: [...afterTools], phase },
    });
  }

  /** What came since the last call. */
  takeGain(): TranscriptGain {
    const { toolRows, steerRows, toolNames, texts, heard } = this.#taken;
    const fresh = this.#heard.slice(heard);
    this.#taken = {
      toolRows: this.#toolRows.length,
      steerRows: this.#steerRows.length,
      toolNames: this.#toolNames.length,
      // The last text may go on: it is taken once more.
      texts: Math.max(0, this.#texts.length - 1),
      heard: this.#heard.length,
    };
    return {
      toolRows: this.#toolRows.slice(toolRows),
      steerRows: this.#steerRows.slice(steerRows),
      toolNames: this.#toolNames.slice(toolNames),
      textsFrom: texts,
      texts: this.#texts.slice(texts),
      goesOn: this.#goesOn,
      ...(fresh.length === 0 ? {} : { heard: Object.fromEntries(fresh) }),
    };
  }

  restore(gain: TranscriptGain): void {
    this.#toolRows.push(...gain.toolRows);
    this.#steerRows.push(...gain.steerRows);
    this.#toolNames.push(...gain.toolNames);
    this.#texts.splice(gain.textsFrom, Number.POSITIVE_INFINITY, ...gain.texts);
    this.#goesOn = gain.goesOn;
    if (gain.heard !== undefined) this.#heard = [...this.#heard, ...Object.entries(gain.heard)];
    this.takeGain();
  }

  rows(atMs: number, answerMetadata: Readonly<Record<string, unknown>>): readonly NewRow[] {
    const { answer } = this;
    const answerRows: NewRow[] =
      answer === '' ? [] : [{ role: 'assistant', content: answer, atMs, metadata: answerMetadata }];
    return [this.#userRow(), ...this.#toolRows, ...this.#steerRows, ...answerRows];
  }

  #userRow(): NewRow {
    const metadata = attachmentMetadata(this.#attachments, Object.fromEntries(this.#heard));
    return Object.keys(metadata).length === 0 ? this.#user : { ...this.#user, metadata };
  }

  #split(part: 'answer' | 'thinking'): string {
    return this.#texts
      .map((text) => splitThinking(text)[part])
      .filter((text) => text !== '')
      .join('\n\n');
  }
}
