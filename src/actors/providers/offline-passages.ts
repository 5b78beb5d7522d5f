// Offline passages: which stored sentences come closest to a message. Deterministic; words are weighed by how rare they are
// among the sentences at hand (BM25 without a corpus).

export interface Passage {
  readonly text: string;
  readonly source: string;
}

/** Newest first, beyond it nothing is read: the responder must not keep its thread busy. */
const SENTENCES_MAX = 2_000;
const SENTENCE_CHARS_MAX = 400;
/** BM25's usual constants: saturation of a repeated word, and weight of a sentence's length. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about an and any are as at be but by can could did do does for from had has have he her his how i if in is it its ' +
    'just me my of on or our she should so tell than that the their them then there they this to us was we were what ' +
    'when where which who why will with would you your'
  ).split(' '),
);

export function closestPassages(query: string, texts: readonly Passage[], count: number): readonly Passage[] {
  const wanted = new Set(words(query));
  if (wanted.size === 0) return [];
  const sentences = distinctSentences(texts).slice(0, SENTENCES_MAX);
  const bags = sentences.map((sentence) => words(sentence.text));
  const averageLength = bags.reduce((sum, bag) => sum + bag.length, 0) / Math.max(bags.length, 1);
  const frequency = new Map<string, number>();
  for (const bag of bags)
    for (const word of new Set(bag)) frequency.set(word, (frequency.get(word) ?? 0) + 1);

  const scoreOf = (bag: readonly string[]): number => {
    let score = 0;
    for (const word of wanted) {
      const times = bag.filter((other) => other === word).length;
      if (times === 0) continue;
      const holders = frequency.get(word) ?? 0;
      const rarity = Math.log(1 + (bags.length - holders + 0.5) / (holders + 0.5));
      const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * bag.length) / averageLength);
      score += (rarity * times * (SATURATION + 1)) / (times + norm);
    }
    return score;
  };
  return sentences
    .map((sentence, index) => ({ sentence, score: scoreOf(bags[index] ?? []) }))
    .filter((scored) => scored.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, count)
    .map((scored) => scored.sentence);
}

/** The words that say what a text is about, in order. */
export function words(text: string): string[] {
  const found = text
    .toLowerCase()
    .match(/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{N}]+/gu);
  return (found ?? []).filter((word) => !STOP_WORDS.has(word));
}

function distinctSentences(texts: readonly Passage[]): Passage[] {
  const seen = new Set<string>();
  const sentences: Passage[] = [];
  for (const { text, source } of texts) {
    for (const piece of text.split(/(?<=[.!?。！？])\s+|\n+/)) {
      const sentence = piece.trim().slice(0, SENTENCE_CHARS_MAX);
      const key = words(sentence).join(' ');
      if (key === '' || seen.has(key)) continue;
      seen.add(key);
      sentences.push({ text: sentence, source });
    }
  }
  return sentences;
}
