// LexicalModel: the built-in model, generated. A table of signs drawn from a fixed sequence; a text is the weighted sum of the
// rows of its features (lexical-features.ts), brought to length 1. That is a random projection of a bag of words and
// n-grams: the cosine of two texts is about that of their bags.
// M1 Generated, it is the same to the last byte on every machine, and its hash is known: a file that differs is made again.
// M2 The file is whole or not there: it is written aside and renamed.

import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256HexOfFile } from '../../std/hashes.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { EngineFacts } from './embedder-protocol.ts';
import { mixed, TABLE_ROWS } from './lexical-features.ts';
import { onnxModel } from './onnx-writer.ts';

const LEXICAL_MODEL = 'troupe-lexical-v1';
export const LEXICAL_DIMENSIONS = 384;
/** M1. Of the file. */
export const LEXICAL_SHA256 = '3b3c450c823df4c57d97a86c0171a9bde2a92f21d5d3184a3a2d36e07b3561b4';

export const lexicalFacts: EngineFacts = {
  model: LEXICAL_MODEL,
  dimensions: LEXICAL_DIMENSIONS,
  digest: LEXICAL_SHA256,
};

export function lexicalModel(): Uint8Array {
  return onnxModel({
    name: LEXICAL_MODEL,
    inputs: [{ name: 'features', type: 'float', shape: ['texts', TABLE_ROWS] }],
    outputs: [{ name: 'sentence_embedding', type: 'float', shape: ['texts', LEXICAL_DIMENSIONS] }],
    tensors: [
      {
        name: 'table',
        shape: [TABLE_ROWS, LEXICAL_DIMENSIONS],
        data: signs(TABLE_ROWS * LEXICAL_DIMENSIONS),
      },
    ],
    nodes: [
      { operator: 'Cast', inputs: ['table'], outputs: ['numbers'], attributes: { to: { int: 1 } } },
      { operator: 'MatMul', inputs: ['features', 'numbers'], outputs: ['sum'] },
      {
        operator: 'LpNormalization',
        inputs: ['sum'],
        outputs: ['sentence_embedding'],
        attributes: { axis: { int: -1 }, p: { int: 2 } },
      },
    ],
  });
}

function signs(count: number): Int8Array {
  const values = new Int8Array(count);
  let bits = 0;
  for (let at = 0; at < count; at += 1) {
    if (at % 32 === 0) bits = mixed(at + 0x5eed);
    values[at] = (bits >>> (at % 32)) & 1 ? 1 : -1;
  }
  return values;
}

export function lexicalModelFile(folder: string): string {
  return join(folder, LEXICAL_MODEL, 'onnx', 'model.onnx');
}

/** M1, M2. Answers the file, which is there and is what it should be. */
export async function ensureLexicalModel(folder: string, random: RandomSource): Promise<string> {
  const file = lexicalModelFile(folder);
  if ((await hashOf(file)) === LEXICAL_SHA256) return file;
  await mkdir(dirname(file), { recursive: true });
  // Two threads may find it missing at once: each writes a draft of its own.
  const draft = `${file}.${random.hex(8)}.draft`;
  try {
    await using handle = await open(draft, 'w');
    await handle.writeFile(lexicalModel());
    await handle.sync();
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return file;
}

async function hashOf(file: string): Promise<string | null> {
  try {
    return await sha256HexOfFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
