// Collection: what a bench of vectors files, and the questions that it asks, which are not among them.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLexicalEngine } from '../../src/actors/embeddings/lexical-engine.ts';
import { systemRandom } from '../../src/std/ids.ts';
import { textMaker } from './made-texts.ts';
import { vectorMaker } from './made-vectors.ts';

export const DIMENSIONS = 384;
const SEED = 7;
const TEXTS_PER_RUN = 64;

/** `texts`: passages and questions in words, as the built-in engine embeds them. */
export type Kind = 'clustered' | 'uniform' | 'texts';

export interface Collection {
  /** One after the other. */
  readonly all: Float32Array;
  readonly questions: readonly Float32Array[];
}

export async function madeCollection(kind: Kind, count: number, questions: number): Promise<Collection> {
  if (kind === 'texts') return embedded(count, questions);
  const next = vectorMaker(kind, DIMENSIONS, SEED);
  const all = new Float32Array(count * DIMENSIONS);
  for (let i = 0; i < count; i += 1) all.set(next(), i * DIMENSIONS);
  return { all, questions: Array.from({ length: questions }, next) };
}

async function embedded(count: number, questions: number): Promise<Collection> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-bench-model-'));
  const engine = await openLexicalEngine(folder, 1, systemRandom);
  const { signal } = new AbortController();
  const vectorsOf = async (
    length: number,
    kind: 'passage' | 'query',
    text: () => string,
  ): Promise<Float32Array> => {
    const all = new Float32Array(length * DIMENSIONS);
    for (let from = 0; from < length; from += TEXTS_PER_RUN) {
      const texts = Array.from({ length: Math.min(TEXTS_PER_RUN, length - from) }, text);
      all.set((await engine.run(texts, kind, signal)).vectors, from * DIMENSIONS);
    }
    return all;
  };
  try {
    const texts = textMaker(SEED);
    const all = await vectorsOf(count, 'passage', texts.passage);
    const asked = await vectorsOf(questions, 'query', texts.question);
    return {
      all,
      questions: Array.from({ length: questions }, (_, i) =>
        asked.slice(i * DIMENSIONS, (i + 1) * DIMENSIONS),
      ),
    };
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}
