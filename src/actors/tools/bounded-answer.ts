// Bounded answer: JSON that fits into the conversation because the texts in it give way. Pure.

import { TOOL_RESULT_INLINE_CHARS_MAX } from '../tool-outputs/protocol.ts';
import { jsonAnswer, type ToolAnswer } from './tool.ts';

/** Tried from the left. The last is short enough for any list of twenty, even where every character is escaped. */
const TEXT_CHARS_MAX = [2_000, 1_000, 500, 250, 60];

/** `build` gets how many characters each text may have. */
export function boundedAnswer(build: (textCharsMax: number) => object): ToolAnswer {
  let answer = jsonAnswer({});
  for (const textCharsMax of TEXT_CHARS_MAX) {
    answer = jsonAnswer(build(textCharsMax));
    if (answer.content.length <= TOOL_RESULT_INLINE_CHARS_MAX) break;
  }
  return answer;
}
