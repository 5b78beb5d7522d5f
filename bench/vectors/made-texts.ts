// MadeTexts: passages and questions that a seed decides, of words as often as words are used: few of them everywhere, most of them
// rarely (Zipf), and some only where their topic is. So they can be embedded by a real engine, and be near and far as texts are.

import { seededRandom } from '../../src/std/ids.ts';

const WORDS = 30_000;
const TOPICS = 1_000;
const WORDS_PER_TOPIC = 60;
/** Of the words of a passage; the others are of the language. */
const TOPIC_SHARE = 0.4;
const PASSAGE_WORDS = { min: 60, max: 140 };
const QUESTION_WORDS = { min: 4, max: 12 };
const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za ster ning ment er'.split(
  ' ',
);

export interface TextMaker {
  passage(): string;
  /** Words of one topic mostly, as people ask. */
  question(): string;
}

export function textMaker(seed: number): TextMaker {
  const { float } = seededRandom(seed);
  const below = (count: number): number => Math.floor(float() * count);
  const word = (): string =>
    Array.from({ length: 2 + below(3) }, () => SYLLABLES[below(SYLLABLES.length)]).join('');
  const words = Array.from({ length: WORDS }, word);
  /** The n-th word is used about 1 / n as often as the first. */
  const common = (): string => words[Math.floor(WORDS ** float()) - 1] as string;
  const topics = Array.from({ length: TOPICS }, () =>
    Array.from({ length: WORDS_PER_TOPIC }, () => words[below(WORDS)]),
  );
  const text = ({ min, max }: { readonly min: number; readonly max: number }, topicShare: number): string => {
    const topic = topics[below(TOPICS)] as readonly string[];
    const length = min + below(max - min);
    return Array.from({ length }, () =>
      float() < topicShare ? topic[below(WORDS_PER_TOPIC)] : common(),
    ).join(' ');
  };
  return {
    passage: () => text(PASSAGE_WORDS, TOPIC_SHARE),
    question: () => text(QUESTION_WORDS, 2 * TOPIC_SHARE),
  };
}
