// Passages: cuts a text into passages and ranks them by the words of a query (BM25, Robertson & Zaragoza 2009).
// Words, not meaning: a passage that says the same in other words is not found. Pure.
// A1 Only the query's words are looked for, so that a text of several megabytes is ranked in tens of milliseconds and
//    nothing is indexed. A word matches the beginning of a word, which forgives most endings.

export interface Passage {
  readonly offset: number;
  readonly text: string;
}

export interface RankedPassage extends Passage {
  readonly score: number;
}

const PASSAGE_CHARS = 800;
/** A cut is made at the last paragraph, line or word that ends after this share of a passage. */
const CUT_FROM_SHARE = 0.5;
const QUERY_WORDS_MAX = 16;
/** BM25 is flat long before this many occurrences; counting stops here. */
const OCCURRENCES_MAX = 32;
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

export function* passagesOf(text: string): Generator<Passage> {
  let offset = 0;
  while (offset < text.length) {
    const end = cutAfter(text, offset);
    yield { offset, text: text.slice(offset, end) };
    offset = end;
  }
}

function cutAfter(text: string, offset: number): number {
  const limit = offset + PASSAGE_CHARS;
  if (limit >= text.length) return text.length;
  const window = text.slice(offset, limit);
  const earliest = PASSAGE_CHARS * CUT_FROM_SHARE;
  for (const boundary of ['\n\n', '\n', '. ', ' ']) {
    const at = window.lastIndexOf(boundary);
    if (at >= earliest) return offset + at + boundary.length;
  }
  const halvesPair = /[\ud800-\udbff]$/.test(window);
  return halvesPair ? limit - 1 : limit;
}

/** The best `limit` passages, best first; those without any of the words are left out. */
export function rankPassages(text: string, query: string, limit: number): readonly RankedPassage[] {
  const words = queryWords(query);
  const candidates: { readonly passage: Passage; readonly counts: readonly number[] }[] = [];
  const passagesWith = words.map(() => 0);
  let passageCount = 0;
  for (const passage of passagesOf(text)) {
    passageCount += 1;
    const lowered = passage.text.toLowerCase();
    const counts = words.map((word) => countWord(lowered, word));
    if (counts.every((count) => count === 0)) continue;
    counts.forEach((count, at) => {
      if (count > 0) passagesWith[at] = (passagesWith[at] ?? 0) + 1;
    });
    candidates.push({ passage, counts });
  }

  const rarity = passagesWith.map((having) => Math.log(1 + (passageCount - having + 0.5) / (having + 0.5)));
  const averageLength = text.length / Math.max(passageCount, 1);
  const scoreOf = (passage: Passage, counts: readonly number[]): number => {
    const length = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * passage.text.length) / averageLength;
    return counts.reduce(
      (score, count, at) =>
        score + ((rarity[at] ?? 0) * count * (SATURATION + 1)) / (count + SATURATION * length),
      0,
    );
  };
  return candidates
    .map(({ passage, counts }) => ({ ...passage, score: scoreOf(passage, counts) }))
    .toSorted((a, b) => b.score - a.score || a.offset - b.offset)
    .slice(0, limit);
}

function queryWords(query: string): readonly string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...new Set(words)].slice(0, QUERY_WORDS_MAX);
}

const WORD_END = /[\p{L}\p{M}\p{N}]$/u;
/** Scripts that are written without spaces: there is no beginning of a word to look for. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function countWord(lowered: string, word: string): number {
  const anywhere = UNSPACED.test(word);
  let count = 0;
  for (let at = lowered.indexOf(word); at >= 0; at = lowered.indexOf(word, at + word.length)) {
    if (!anywhere && at > 0 && WORD_END.test(lowered.slice(Math.max(at - 2, 0), at))) continue;
    count += 1;
    if (count === OCCURRENCES_MAX) break;
  }
  return count;
}
