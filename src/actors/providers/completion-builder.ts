// Completion builder: what adapters have in common. It turns what a provider streams into deltas of our own.
// B1 Reasoning goes out as text between <think> and </think>; the tag is closed before anything else comes.
// B2 Tool calls go out whole, once, before `finish`.
// B3 `begun` is true once text was handed out: from then on a failure cannot be hidden by asking again.

import type { RandomSource } from '../../std/ids.ts';
import { pricedUsage, type ReportedUsage } from './pricing.ts';
import type { CompletionDelta, CompletionUsage, FinishReason, Price, SignedThought } from './protocol.ts';
import { assembleToolCalls, type ToolCallFragment } from './tool-call-assembly.ts';

export interface CompletionBuilder {
  addText(piece: string): void;
  addReasoning(piece: string): void;
  /** False when the answer has too many tool calls. */
  addToolFragment(fragment: ToolCallFragment): boolean;
  setUsage(usage: ReportedUsage): void;
  /** They go out with the first tool call. */
  setThoughts(thoughts: readonly SignedThought[]): void;
  /** What the provider gave as the reason for its end. */
  setFinish(reason: FinishReason): void;
  readonly begun: boolean;
  /** The provider has said how the answer ended. */
  readonly finished: boolean;
  /** The deltas since the last take. */
  take(): readonly CompletionDelta[];
  /** The deltas that end the answer. */
  end(): readonly CompletionDelta[];
}

export function buildCompletion(random: RandomSource, price: Price | null = null): CompletionBuilder {
  const toolCalls = assembleToolCalls(random);
  let gathered: CompletionDelta[] = [];
  let isThinking = false;
  let begun = false;
  let usage: CompletionUsage | null = null;
  let finish: FinishReason | null = null;
  let thoughts: readonly SignedThought[] = [];

  const put = (text: string): void => {
    if (text === '') return;
    begun = true; // B3
    gathered.push({ kind: 'text', text });
  };
  const stopThinking = (): void => {
    if (!isThinking) return;
    isThinking = false;
    put('</think>'); // B1
  };
  const take = (): readonly CompletionDelta[] => {
    const deltas = gathered;
    gathered = [];
    return deltas;
  };

  return {
    addText(piece) {
      if (piece === '') return;
      stopThinking();
      put(piece);
    },
    addReasoning(piece) {
      if (piece === '') return;
      put(isThinking ? piece : `<think>${piece}`);
      isThinking = true;
    },
    addToolFragment(fragment) {
      stopThinking();
      return toolCalls.add(fragment);
    },
    setUsage(reported) {
      usage = pricedUsage(reported, price);
    },
    setThoughts(signed) {
      thoughts = signed;
    },
    setFinish(reason) {
      finish = reason;
    },
    get begun() {
      return begun;
    },
    get finished() {
      return finish !== null;
    },
    take,
    end() {
      stopThinking();
      const calls = toolCalls
        .calls()
        .map((call, at) => (at === 0 && thoughts.length > 0 ? { ...call, thoughts } : call));
      if (calls.length > 0) gathered.push({ kind: 'tool_calls', calls }); // B2
      // Some providers say `stop` after tool calls; the calls themselves are what counts.
      const reason = calls.length > 0 && finish !== 'error' ? 'tool_calls' : (finish ?? 'stop');
      gathered.push({ kind: 'finish', reason, usage });
      return take();
    },
  };
}
