// MadeVectors: vectors of length one that a seed decides: in clusters, as the texts of related documents are, or spread evenly over
// all directions, which no texts are, and which is the hardest there is for a graph.

import { seededRandom } from '../../src/std/ids.ts';

export type Spread = 'clustered' | 'uniform';

const CLUSTERS = 1_000;
/** Two of a cluster have a cosine of about 0.6. */
const NOISE = 0.8;

export function vectorMaker(spread: Spread, dimensions: number, seed: number): () => Float32Array {
  const { float } = seededRandom(seed);
  const gaussian = (): number => Math.sqrt(-2 * Math.log(1 - float())) * Math.cos(2 * Math.PI * float());
  const direction = (): Float32Array => Float32Array.from({ length: dimensions }, gaussian);
  if (spread === 'uniform') return () => unit(direction());
  const centres = Array.from({ length: CLUSTERS }, direction);
  return () => {
    const centre = centres[Math.floor(float() * CLUSTERS)] as Float32Array;
    return unit(centre.map((member) => member + NOISE * gaussian()));
  };
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, member) => sum + member * member, 0));
  return vector.map((member) => member / length);
}
