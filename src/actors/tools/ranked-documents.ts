// RankedDocuments: which documents fit a query by what they are called and described as. Pure.

import type { Document } from '../workspaces/protocol.ts';

/** What a word of the query is worth where it is found. A name is chosen, a summary is long. */
const WORTH = { filename: 4, tags: 3, summary: 1 } as const;

/** Those that have a word of the query, the best first. */
export function rankDocuments(documents: readonly Document[], query: string): readonly Document[] {
  const words = new Set(wordsOf(query));
  return documents
    .map((document) => ({ document, score: scoreOf(document, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ document }) => document);
}

function scoreOf({ filename, tags, summary }: Document, words: ReadonlySet<string>): number {
  const texts = { filename, tags: tags.join(' '), summary };
  let score = 0;
  for (const [where, worth] of Object.entries(WORTH)) {
    const text = texts[where as keyof typeof WORTH].toLowerCase();
    for (const word of words) if (text.includes(word)) score += worth;
  }
  return score;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
