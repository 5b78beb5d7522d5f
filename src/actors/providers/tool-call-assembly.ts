// Tool-call assembly: whole tool calls out of streamed fragments, the ways of the providers included.
// A1 A fragment belongs to the call at its index. Without an index it belongs to the call of its id, or to the latest one.
// A2 A new id at an index that is taken starts another call: some providers send every parallel call as index 0.
// A3 A provider that forgets ids gets ours, because call, result and rows are linked by it.
// A4 Arguments have a bounded number of levels: what is done with them later goes down into each of them.

import type { RandomSource } from '../../std/ids.ts';
import { isNestedDeeper } from '../../std/nesting.ts';
import type { ModelToolCall } from './protocol.ts';

/** More calls in one answer than any sane model makes: beyond it the answer is taken for broken. */
export const TOOL_CALLS_PER_ANSWER_MAX = 128;
/** Far more than any tool asks for. Thousands of levels neither cross a thread nor are written: the turn would not go on. */
export const ARGUMENTS_LEVELS_MAX = 128;

export interface ToolCallFragment {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly argumentsText: string;
}

export interface ToolCallAssembly {
  /** False when the answer has too many calls. */
  add(fragment: ToolCallFragment): boolean;
  /** The calls so far, in the order in which they began. */
  calls(): readonly ModelToolCall[];
}

interface Draft {
  readonly index: number | null;
  id: string | null;
  name: string;
  readonly pieces: string[];
}

export function assembleToolCalls(random: RandomSource): ToolCallAssembly {
  const drafts: Draft[] = [];

  const draftFor = (fragment: ToolCallFragment): Draft | undefined => {
    if (fragment.index !== null) {
      // A1
      const here = drafts.findLast((draft) => draft.index === fragment.index);
      const isAnother =
        here !== undefined && fragment.id !== null && here.id !== null && here.id !== fragment.id;
      return isAnother ? undefined : here; // A2
    }
    if (fragment.id !== null) return drafts.find((draft) => draft.id === fragment.id);
    return drafts.at(-1);
  };

  return {
    add(fragment) {
      let draft = draftFor(fragment);
      if (draft === undefined) {
        if (drafts.length >= TOOL_CALLS_PER_ANSWER_MAX) return false;
        draft = { index: fragment.index, id: fragment.id, name: '', pieces: [] };
        drafts.push(draft);
      }
      draft.id ??= fragment.id;
      // Some providers repeat the name in every fragment.
      if (draft.name === '') draft.name = fragment.name ?? '';
      if (fragment.argumentsText !== '') draft.pieces.push(fragment.argumentsText);
      return true;
    },
    calls: () =>
      drafts.map((draft) => {
        const argumentsText = draft.pieces.join('');
        return {
          id: draft.id ?? `call_${random.hex(24)}`, // A3
          name: draft.name,
          arguments: parseArguments(argumentsText),
          argumentsText,
        };
      }),
  };
}

/** `{}` when the model sent nothing; null when it is no JSON object, or one with too many levels (A4). */
function parseArguments(text: string): Readonly<Record<string, unknown>> | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && !isNestedDeeper(value, ARGUMENTS_LEVELS_MAX)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
