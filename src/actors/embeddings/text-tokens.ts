// TextTokens: a text as the ids that a model takes, cut to what it takes. The tokenizers do not cut by themselves.
// K1 The special tokens around a text stay when it is cut: a model reads its meaning off them.

import { Tokenizer } from '@huggingface/tokenizers';
import { errorText } from '../../std/errors.ts';
import { unusable } from './model-folder.ts';

/** No script needs as many characters for a token as this; what lies behind is not even tokenised. */
const CHARACTERS_PER_TOKEN_MAX = 32;
/** Most need about as many as this: for estimates. */
export const CHARACTERS_PER_TOKEN = 4;

export interface TextTokens {
  /** At least one id. */
  ids(text: string): readonly number[];
  /** What shorter texts of a batch are filled up with. */
  readonly paddingId: number;
}

export function textTokens(tokenizer: object, config: object, tokensMax: number): TextTokens {
  const { tool, before, behind } = opened(tokenizer, config);
  const room = Math.max(1, tokensMax - before.length - behind.length);
  const paddingId = tool.token_to_id((config as { readonly pad_token?: string }).pad_token ?? '[PAD]') ?? 0;
  return {
    paddingId,
    ids(text) {
      const { ids } = tool.encode(text.slice(0, tokensMax * CHARACTERS_PER_TOKEN_MAX), {
        add_special_tokens: false,
      });
      const all = [...before, ...ids.slice(0, room), ...behind]; // K1
      return all.length === 0 ? [paddingId] : all;
    },
  };
}

interface OpenTokenizer {
  readonly tool: Tokenizer;
  readonly before: readonly number[];
  readonly behind: readonly number[];
}

/** What is put around a text is seen on one: it is the same around every other. */
function opened(tokenizer: object, config: object): OpenTokenizer {
  try {
    const tool = new Tokenizer(tokenizer, config);
    const bare: readonly number[] = tool.encode('a', { add_special_tokens: false }).ids;
    const whole: readonly number[] = tool.encode('a').ids;
    const added = whole.length - bare.length;
    let at = 0;
    while (at < added && !bare.every((id, index) => whole[at + index] === id)) at += 1;
    return { tool, before: whole.slice(0, at), behind: whole.slice(at + bare.length) };
  } catch (error) {
    throw unusable(`the tokenizer of the model cannot be used: ${errorText(error).slice(0, 200)}`);
  }
}
