// OpenaiEmbeddings: requests in OpenAI's shape as texts for the engine, and its vectors in that shape. Pure.
// Q1 What cannot be done is refused by name: lists of tokens (they are another model's), another model, more dimensions.

import {
  type Embedded,
  type EmbeddingList,
  type EmbeddingRequest,
  type Engine,
  embeddingFaults,
  TEXT_LENGTH_MAX,
} from './protocol.ts';
import { unitVectors } from './vectors.ts';

const MODEL_DEFAULT = 'default';

/** Q1. */
export function textsOf({ input }: EmbeddingRequest): readonly string[] {
  const texts = typeof input === 'string' ? [input] : input;
  if (texts.length === 0) throw refused('input', 'input is empty');
  return texts.map((text) => {
    if (typeof text !== 'string')
      throw refused(
        'input',
        'input must be a text or a list of texts: lists of tokens are those of another model',
      );
    if (text === '') throw refused('input', 'input holds an empty text');
    if (text.length > TEXT_LENGTH_MAX)
      throw refused(
        'input',
        `input holds a text of ${text.length} characters; at most ${TEXT_LENGTH_MAX} are taken`,
      );
    return text;
  });
}

/** Q1. */
export function assertServed({ model, dimensions }: EmbeddingRequest, engine: Engine): void {
  const names = ['', MODEL_DEFAULT, engine.model, `${engine.provider}:${engine.model}`, engine.id];
  if (!names.includes(model ?? ''))
    throw refused(
      'model',
      `The model ${model} does not embed here: ask for ${engine.model}, or for ${MODEL_DEFAULT}`,
    );
  if ((dimensions ?? 0) > engine.dimensions)
    throw refused('dimensions', `${engine.model} has ${engine.dimensions} dimensions, not ${dimensions}`);
}

export function listOf(
  { vectors, dimensions: width, model, tokens }: Embedded,
  { encoding_format, dimensions }: EmbeddingRequest,
): EmbeddingList {
  const wanted = dimensions ?? width;
  return {
    object: 'list',
    data: vectors.map((vector, index) => {
      const cut = wanted === width ? vector : unitVectors(vector, width, wanted);
      return {
        object: 'embedding',
        index,
        embedding: encoding_format === 'base64' ? base64Of(cut) : cut,
      };
    }),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Floats of 32 bits, the lowest byte first, as every machine that this runs on has them. */
function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function refused(param: string, why: string): Error {
  return embeddingFaults.embedding_refused(why, { details: { param } });
}
