// PromptBlocks: the system messages in front of the history, and what becomes of them when there is little room. Pure.
// L1 They are said in the order in which they are given, and get their room by priority, the highest first.
// L2 What is mandatory is said in full. What does not fit loses its end, or, where the newest comes last, its beginning; what would
//    be left of it says nothing any more is left out.

import { estimateTokens } from './tokens.ts';

export interface PromptBlock {
  readonly content: string;
  readonly priority: number;
  readonly underPressure: 'mandatory' | 'loses_end' | 'keeps_newest_lines';
}

/** Role and separators, as tokens.ts counts them. */
const OVERHEAD_TOKENS = 4;
const TOKENS_MIN = 40;
const CHARS_PER_TOKEN = 4;
const CUT = '\n[…]';

export function fitBlocks(blocks: readonly PromptBlock[], budgetTokens: number): readonly string[] {
  const contents = new Map<PromptBlock, string>();
  let left = budgetTokens;
  for (const block of blocks.toSorted((one, other) => other.priority - one.priority)) {
    const content = fitted(block, left - OVERHEAD_TOKENS);
    if (content === null) continue;
    left -= estimateTokens(content) + OVERHEAD_TOKENS;
    contents.set(block, content);
  }
  return blocks.flatMap((block) => contents.get(block) ?? []);
}

/** L2. */
function fitted({ content, underPressure }: PromptBlock, tokens: number): string | null {
  if (underPressure === 'mandatory' || estimateTokens(content) <= tokens) return content;
  if (tokens < TOKENS_MIN) return null;
  const chars = tokens * CHARS_PER_TOKEN - CUT.length;
  if (underPressure === 'loses_end') return content.slice(0, chars).toWellFormed() + CUT;
  const [head = '', ...lines] = content.split('\n');
  const kept: string[] = [];
  let room = chars - head.length;
  for (const line of lines.toReversed()) {
    room -= line.length + 1;
    if (room < 0) break;
    kept.unshift(line);
  }
  return kept.length === 0 ? null : `${head}${CUT}\n${kept.join('\n')}`;
}
