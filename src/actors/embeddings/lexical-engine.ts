// LexicalEngine: the built-in model, open on this thread. What it reads of a text is worked out before the graph.

import type { RandomSource } from '../../std/ids.ts';
import { CHARACTERS_READ_MAX, lexicalFeatures } from './lexical-features.ts';
import { ensureLexicalModel, LEXICAL_DIMENSIONS, lexicalFacts } from './lexical-model.ts';
import type { Model } from './model.ts';
import { openOnnxSession } from './onnx-session.ts';

export async function openLexicalEngine(
  folder: string,
  threads: number,
  random: RandomSource,
): Promise<Model> {
  const session = await openOnnxSession(await ensureLexicalModel(folder, random), threads);
  return {
    facts: lexicalFacts,
    isComputedHere: true,
    charactersRead: CHARACTERS_READ_MAX,
    async run(texts) {
      const features = texts.map(lexicalFeatures);
      const width = Math.max(...features.map(({ rows }) => rows.length));
      const rows = new BigInt64Array(texts.length * width);
      // A row that fills up has the weight 0.
      const weights = new Float32Array(texts.length * width);
      features.forEach((feature, text) => {
        feature.rows.forEach((row, at) => {
          rows[text * width + at] = BigInt(row);
        });
        weights.set(feature.weights, text * width);
      });
      const { data } = await session.run(
        {
          rows: { data: rows, shape: [texts.length, width] },
          weights: { data: weights, shape: [texts.length, 1, width] },
        },
        'sentence_embedding',
      );
      return {
        vectors: data.slice(0, texts.length * LEXICAL_DIMENSIONS),
        tokens: features.map(({ words }) => words),
      };
    },
    close: () => session.close(),
  };
}
