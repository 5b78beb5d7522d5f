// LexicalEngine: the built-in model, open on this thread. What it reads of a text is worked out before the graph.

import type { RandomSource } from '../../std/ids.ts';
import { addFeatures, CHARACTERS_READ_MAX, TABLE_ROWS } from './lexical-features.ts';
import { ensureLexicalModel, lexicalFacts } from './lexical-model.ts';
import type { Model } from './model.ts';
import { openOnnxSession } from './onnx-session.ts';

const NOTHING = new Float32Array(0);

export async function openLexicalEngine(
  folder: string,
  threads: number,
  random: RandomSource,
): Promise<Model> {
  const session = await openOnnxSession(await ensureLexicalModel(folder, random), threads);
  /** Of the last run, for the next one. */
  let spare = NOTHING;
  return {
    facts: lexicalFacts,
    isComputedHere: true,
    charactersRead: CHARACTERS_READ_MAX,
    async run(texts) {
      const size = texts.length * TABLE_ROWS;
      const buffer = spare.length < size ? new Float32Array(size) : spare;
      spare = NOTHING;
      const features = buffer.subarray(0, size).fill(0);
      const tokens = texts.map((text, at) =>
        addFeatures(features.subarray(at * TABLE_ROWS, (at + 1) * TABLE_ROWS), text),
      );
      const { data } = await session.run(
        { features: { data: features, shape: [texts.length, TABLE_ROWS] } },
        'sentence_embedding',
      );
      spare = buffer;
      return { vectors: data, tokens };
    },
    close: () => session.close(),
  };
}
