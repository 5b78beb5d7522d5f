// Tokenizer: the words of a text in any script, as they are filed and looked for.
// W1 The same word in another case, width, composition or with other accents is the same token.
// W2 Scripts that are written without spaces give every character and every pair of neighbours; a question asks for the
//    pairs alone, and for a character only where it stands alone.
// W3 Text, tokens, their number and the marks of a letter are bounded.

/** 20,000 tokens are a long report; what lies behind them is not found by its words. */
export const DOCUMENT_TOKENS_MAX = 20_000;
export const DOCUMENT_LENGTH_MAX = 400_000;
export const QUERY_TOKENS_MAX = 64;
export const QUERY_LENGTH_MAX = 4_000;
/** The longer runs are hashes and encoded data: their beginnings tell them apart well enough. */
export const TOKEN_LENGTH_MAX = 64;

/** No writing has as many in a row. To put them in order takes the square of their number: a message of them held its thread for minutes. */
const MARKS_IN_A_ROW_MAX = 16;
const MARKS_TOO_MANY = new RegExp(`(\\p{M}{${MARKS_IN_A_ROW_MAX}})\\p{M}+`, 'gu');

const RUN = /[\p{L}\p{N}\p{M}]+/gu;
/** Marks that are spelling, not sound: accents, points and vowel signs which writers leave out. */
const OPTIONAL_MARKS =
  /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}])\p{Mn}+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]\p{M}*/u;
const UNSPACED_OR_OTHER = new RegExp(`(?:${UNSPACED.source})+|(?:(?!${UNSPACED.source}).)+`, 'gu');
const UNSPACED_CHARACTER = new RegExp(UNSPACED.source, 'gu');

/** In the order of the text, repeated as often as they occur. */
export function documentTokens(text: string): string[] {
  return bounded(tokens(text.slice(0, DOCUMENT_LENGTH_MAX), true), DOCUMENT_TOKENS_MAX);
}

/** Each token once. */
export function queryTokens(text: string): string[] {
  return bounded(new Set(tokens(text.slice(0, QUERY_LENGTH_MAX), false)), QUERY_TOKENS_MAX);
}

function* tokens(text: string, everyCharacter: boolean): Iterable<string> {
  for (const run of fold(text).match(RUN) ?? []) {
    if (!UNSPACED.test(run)) {
      yield word(run);
      continue;
    }
    for (const [piece] of run.matchAll(UNSPACED_OR_OTHER)) {
      if (UNSPACED.test(piece)) yield* pairs(piece, everyCharacter);
      else yield word(piece);
    }
  }
}

/** The cut may fall inside a character. */
function word(run: string): string {
  return run.length <= TOKEN_LENGTH_MAX ? run : run.slice(0, TOKEN_LENGTH_MAX).toWellFormed();
}

/** W1. */
function fold(text: string): string {
  return text
    .toWellFormed()
    .replace(MARKS_TOO_MANY, '$1') // W3
    .normalize('NFKC')
    .replace(MARKS_TOO_MANY, '$1') // Some letters become marks only then.
    .toLowerCase()
    .normalize('NFD')
    .replace(OPTIONAL_MARKS, '$1')
    .normalize('NFC');
}

/** W2. */
function* pairs(piece: string, everyCharacter: boolean): Iterable<string> {
  const characters = piece.match(UNSPACED_CHARACTER) ?? [];
  if (everyCharacter || characters.length === 1) yield* characters;
  for (let index = 1; index < characters.length; index += 1) {
    yield `${characters[index - 1]}${characters[index]}`;
  }
}

function bounded(items: Iterable<string>, max: number): string[] {
  const kept: string[] = [];
  for (const item of items) {
    if (kept.length === max) break;
    kept.push(item);
  }
  return kept;
}
