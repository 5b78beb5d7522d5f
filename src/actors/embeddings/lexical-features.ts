// LexicalFeatures: a text as weighted rows of the built-in model's table: its words and the n-grams of their characters.
// F1 The same text gives the same rows on every machine: a change here is a new version of the model (see lexical-model.ts).
// F2 A word counts sub-linearly, a common one little. A part of its weight is the word itself, the rest its n-grams: what two
//    forms of a word share is most of those.
// F3 The order of the words, their case, width and accents make no difference. Scripts without spaces count by characters
//    and pairs of neighbours.

import { documentTokens } from '../../storage/tokenizer.ts';
import { isCommonWord } from './common-words.ts';

/** Rows of the model's table; a power of two. */
export const TABLE_ROWS = 4_096;
const ROW_MASK = TABLE_ROWS - 1;

/** What lies behind them is not read: a text of that length is about many things anyway. */
export const CHARACTERS_READ_MAX = 8_000;
const WORDS_MAX = 1_200;

const GRAM_LENGTH_MIN = 2;
const GRAM_LENGTH_MAX = 4;
/** Longer words are told by their first part; it bounds what a text comes to. */
const GRAM_WORD_LENGTH_MAX = 24;
/** Of a word's squared weight, what is the word as such. */
const WHOLE_WORD_SHARE = 0.3;
const COMMON_WORD_WEIGHT = 0.15;
/** Words of one or two letters say little. */
const SHORT_WORD_WEIGHT = 0.5;

/** From here on characters are words, and have no n-grams. */
const FIRST_CJK = 0x2e80;

/** Adds the text's features to `sums`, which has a number for each row of the table. Answers how many words were read. */
export function addFeatures(sums: Float32Array, text: string): number {
  const words = documentTokens(text.slice(0, CHARACTERS_READ_MAX)).slice(0, WORDS_MAX);
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) addWord(sums, word, (1 + Math.log(count)) * weightOf(word)); // F2
  // A text without words is a feature too: its vector has a length like any other.
  if (counts.size === 0) addFeature(sums, WORDLESS, 1);
  return words.length;
}

function weightOf(word: string): number {
  if (isCommonWord(word)) return COMMON_WORD_WEIGHT;
  return word.length <= 2 && isAlphabetic(word) ? SHORT_WORD_WEIGHT : 1;
}

function isAlphabetic(word: string): boolean {
  return word.charCodeAt(0) < FIRST_CJK;
}

/** FNV-1a over UTF-16 units; what is hashed begins with what kind of thing it is. */
const hashed = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x01000193);
const WORD = hashed(0x811c9dc5 | 0, 0x77);
const GRAM = hashed(0x811c9dc5 | 0, 0x67);
const WORDLESS = hashed(0x811c9dc5 | 0, 0x6f);
/** Before the first letter and behind the last one. */
const BOUNDARY = 0x5e;

function addWord(sums: Float32Array, word: string, weight: number): void {
  let whole = WORD;
  for (let at = 0; at < word.length; at += 1) whole = hashed(whole, word.charCodeAt(at));
  const hasGrams = word.length > 2 && isAlphabetic(word);
  addFeature(sums, whole, hasGrams ? weight * Math.sqrt(WHOLE_WORD_SHARE) : weight);
  if (hasGrams) addGrams(sums, word, weight * Math.sqrt(1 - WHOLE_WORD_SHARE));
}

/** Of the word with its boundaries: `^run^` has `^r`, `^ru`, `^run`, `ru` … Their squared weights add up to the square of `weight`. */
function addGrams(sums: Float32Array, word: string, weight: number): void {
  const length = Math.min(word.length, GRAM_WORD_LENGTH_MAX) + 2;
  let count = 0;
  for (let size = GRAM_LENGTH_MIN; size <= GRAM_LENGTH_MAX; size += 1)
    count += Math.max(0, length - size + 1);
  const each = weight / Math.sqrt(count);
  for (let start = 0; start + GRAM_LENGTH_MIN <= length; start += 1) {
    let hash = GRAM;
    const end = Math.min(length, start + GRAM_LENGTH_MAX);
    for (let at = start; at < end; at += 1) {
      hash = hashed(hash, at === 0 || at === length - 1 ? BOUNDARY : word.charCodeAt(at - 1));
      if (at - start + 1 >= GRAM_LENGTH_MIN) addFeature(sums, hash, each);
    }
  }
}

/** Each feature is the sum of two rows, with a sign each: two features rarely share both. */
function addFeature(sums: Float32Array, hash: number, weight: number): void {
  addRow(sums, mixed(hash), weight);
  addRow(sums, mixed(hash ^ 0x9e3779b1), weight);
}

/** The lowest bits are the row, the highest is the sign. */
function addRow(sums: Float32Array, hash: number, weight: number): void {
  const row = hash & ROW_MASK;
  sums[row] = (sums[row] as number) + (hash < 0x8000_0000 ? weight : -weight);
}

/** The finisher of MurmurHash3: 32 bits, unsigned. Also the sequence that the table is drawn from. */
export function mixed(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
