// Ids and randomness: the only door to them, so that a seeded source can replay a whole run.

import { randomBytes, randomUUID } from 'node:crypto';

export interface RandomSource {
  /** UUID v4 text. */
  uuid(): string;
  /** `digits` lowercase hex digits. */
  hex(digits: number): string;
  /** A float in [0, 1). */
  float(): number;
}

export const systemRandom: RandomSource = {
  uuid: () => randomUUID(),
  hex: (digits) =>
    randomBytes(Math.ceil(digits / 2))
      .toString('hex')
      .slice(0, digits),
  float: () => Math.random(),
};

/** A repeatable source (xoroshiro64**, Blackman and Vigna 2018); `seed` is any integer. For tests and simulations, not for secrets. */
export function seededRandom(seed: number): RandomSource {
  let a = (seed ^ 0x9e3779b9) >>> 0 || 1;
  let b = (Math.imul(seed, 0x85ebca6b) ^ 0xc2b2ae35) >>> 0 || 2;
  const next = (): number => {
    const number = Math.imul(rotated(Math.imul(a, 0x9e3779bb), 5), 5) >>> 0;
    const mixed = a ^ b;
    a = rotated(a, 26) ^ mixed ^ (mixed << 9);
    b = rotated(mixed, 13);
    return number;
  };
  const hex = (digits: number): string => {
    let text = '';
    while (text.length < digits) text += next().toString(16).padStart(8, '0');
    return text.slice(0, digits);
  };
  return {
    float: () => next() / 2 ** 32,
    hex,
    uuid: () => {
      const text = hex(32);
      const variant = '89ab'.charAt(parseInt(text.charAt(16), 16) & 3);
      return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-${variant}${text.slice(17, 20)}-${text.slice(20)}`;
    },
  };
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
