// Reply: what a model or an agent said, as the API words it: one completion, or chunks of one. Pure.
// Y1 A thought goes out as `reasoning_content`, as most servers of this API have it, and never as part of the answer.
// Y2 Every chunk names the same completion. The role comes first, the finish reason last; behind it the usage, if wanted.
// Y3 A failure behind the first chunk is a chunk too: `{"error": …}` in the form of the API, and no `[DONE]`.
// Y4 Clients stop at `[DONE]` and take all that belongs to the answer for done: it comes when the answer has really ended.

import type { Fault } from '../../std/errors.ts';
import type { CompletionDelta, CompletionUsage, FinishReason, ModelToolCall } from '../providers/protocol.ts';
import {
  type ChatCompletion,
  type CompletionFrame,
  chatCompletionFaults,
  type ToolCall,
  type Usage,
} from './protocol.ts';
import { ThinkFilter, type ThoughtAndText } from './think-filter.ts';

/** What stands on every piece of one answer. */
export interface Letterhead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

/** Collects a blocking answer. */
export class WholeReply {
  readonly #filter = new ThinkFilter();
  #text = '';
  #thought = '';
  #toolCalls: readonly ModelToolCall[] = [];
  #finish: FinishReason = 'stop';
  #usage: CompletionUsage | null = null;

  add(deltas: readonly CompletionDelta[]): void {
    for (const delta of deltas) {
      switch (delta.kind) {
        case 'text':
          this.#take(this.#filter.feed(delta.text));
          break;
        case 'tool_calls':
          this.#toolCalls = delta.calls;
          break;
        case 'finish':
          this.#finish = delta.reason;
          this.#usage = delta.usage;
          break;
      }
    }
  }

  /** @throws completion_failed */
  completion({ id, created, model }: Letterhead): ChatCompletion {
    this.#take(this.#filter.end());
    if (this.#finish === 'error') throw endedOnError();
    const tool_calls = this.#toolCalls.map(wireToolCall);
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: this.#text === '' && tool_calls.length > 0 ? null : this.#text,
            refusal: null,
            ...(this.#thought === '' ? {} : { reasoning_content: this.#thought }),
            ...(tool_calls.length === 0 ? {} : { tool_calls }),
          },
          logprobs: null,
          finish_reason: this.#finish,
        },
      ],
      ...(this.#usage === null ? {} : { usage: wireUsage(this.#usage) }),
    };
  }

  #take({ thought, text }: ThoughtAndText): void {
    this.#thought += thought;
    this.#text += text;
  }
}

const DONE: CompletionFrame = { data: '[DONE]' };

/** Words a streamed answer. */
export class ReplyChunks {
  readonly #letterhead: Letterhead;
  readonly #wantsUsage: boolean;
  readonly #filter = new ThinkFilter();
  #hasBegun = false;
  #hasFinished = false;

  constructor(letterhead: Letterhead, wantsUsage: boolean) {
    this.#letterhead = letterhead;
    this.#wantsUsage = wantsUsage;
  }

  frames(deltas: readonly CompletionDelta[]): readonly CompletionFrame[] {
    const frames: CompletionFrame[] = [];
    if (!this.#hasBegun)
      frames.push(this.#chunk({ role: 'assistant', content: isSilent(deltas) ? null : '' }));
    this.#hasBegun = true;
    for (const delta of deltas) {
      switch (delta.kind) {
        case 'text':
          this.#say(frames, this.#filter.feed(delta.text));
          break;
        case 'tool_calls':
          this.#say(frames, this.#filter.end());
          frames.push(
            this.#chunk({ tool_calls: delta.calls.map((call, index) => ({ index, ...wireToolCall(call) })) }),
          );
          break;
        case 'finish':
          this.#say(frames, this.#filter.end());
          if (delta.reason === 'error') {
            frames.push(failureFrame(endedOnError()));
            break;
          }
          this.#hasFinished = true;
          frames.push(this.#chunk({}, delta.reason));
          if (this.#wantsUsage && delta.usage !== null) frames.push(this.#usageChunk(delta.usage));
          break;
      }
    }
    return frames;
  }

  /** Y4. */
  end(): readonly CompletionFrame[] {
    return this.#hasFinished ? [DONE] : [];
  }

  #say(frames: CompletionFrame[], { thought, text }: ThoughtAndText): void {
    if (thought !== '') frames.push(this.#chunk({ reasoning_content: thought }));
    if (text !== '') frames.push(this.#chunk({ content: text }));
  }

  #chunk(delta: object, finish_reason: string | null = null): CompletionFrame {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    return this.#frame({ choices, ...(this.#wantsUsage ? { usage: null } : {}) });
  }

  #usageChunk(usage: CompletionUsage): CompletionFrame {
    return this.#frame({ choices: [], usage: wireUsage(usage) });
  }

  #frame(members: object): CompletionFrame {
    const { id, created, model } = this.#letterhead;
    return { data: JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...members }) };
  }
}

/** Y3. The answer's status is out already: all that a client can be told is why it ends. */
export function failureFrame({ code, message }: Fault): CompletionFrame {
  return { data: JSON.stringify({ error: { message, type: 'api_error', param: null, code } }) };
}

/** An answer that is tool calls only has no text, which is not the same as an empty one. */
function isSilent(deltas: readonly CompletionDelta[]): boolean {
  return deltas.some(({ kind }) => kind === 'tool_calls') && !deltas.some(({ kind }) => kind === 'text');
}

function endedOnError(): Fault {
  return chatCompletionFaults.completion_failed('The model ended on an error of its own');
}

function wireToolCall({ id, name, argumentsText }: ModelToolCall): ToolCall {
  return { id, type: 'function', function: { name, arguments: argumentsText === '' ? '{}' : argumentsText } };
}

function wireUsage(usage: CompletionUsage): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
