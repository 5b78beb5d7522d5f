// FiledVectors: vectors of length one that follow from a number, for whoever has to agree on them.

import { seededRandom } from '../../src/std/ids.ts';

export const FILED_IN = 'filed';
export const FILED_ENGINE = 'engine-1';
const DIMENSIONS = 12;

export function filedVector(number: number): Float32Array {
  const { float } = seededRandom(number + 1);
  const members = Array.from({ length: DIMENSIONS }, () => float() - 0.5);
  const length = Math.hypot(...members);
  return Float32Array.from(members, (member) => member / length);
}
