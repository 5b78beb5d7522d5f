// Vectors: arithmetic on what a graph gives. Pure.

import type { Pooling } from './model-folder.ts';

/** A batch of texts, token by token: `hidden` has batch × length × width numbers, of text n the first `lengths[n]` count. */
export interface TokenVectors {
  readonly hidden: Float32Array;
  readonly length: number;
  readonly width: number;
  readonly lengths: readonly number[];
}

/** One vector a text, one behind the other. What was padded takes no part. */
export function pooled({ hidden, length, width, lengths }: TokenVectors, pooling: Pooling): Float32Array {
  const vectors = new Float32Array(lengths.length * width);
  lengths.forEach((count, text) => {
    const start = text * length * width;
    const vector = vectors.subarray(text * width, (text + 1) * width);
    if (pooling !== 'mean') {
      const token = pooling === 'cls' ? 0 : count - 1;
      vector.set(hidden.subarray(start + token * width, start + (token + 1) * width));
      return;
    }
    for (let token = 0; token < count; token += 1) {
      const from = start + token * width;
      for (let at = 0; at < width; at += 1) vector[at] = (vector[at] ?? 0) + (hidden[from + at] ?? 0);
    }
    for (let at = 0; at < width; at += 1) vector[at] = (vector[at] ?? 0) / count;
  });
  return vectors;
}

/** The first `dimensions` numbers of each vector (what models are trained for that allow it), brought to length 1. */
export function unitVectors(vectors: Float32Array, width: number, dimensions: number): Float32Array {
  const count = vectors.length / width;
  const units = new Float32Array(count * dimensions);
  for (let vector = 0; vector < count; vector += 1) {
    const kept = vectors.subarray(vector * width, vector * width + dimensions);
    let squares = 0;
    for (const value of kept) squares += value * value;
    // A vector of nothing but zeros has no direction, and stays what it is.
    const scale = squares === 0 ? 0 : 1 / Math.sqrt(squares);
    const from = vector * dimensions;
    for (let at = 0; at < dimensions; at += 1) units[from + at] = (kept[at] ?? 0) * scale;
  }
  return units;
}
