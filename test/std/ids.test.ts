import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/std/ids.ts';

const DRAWS = 100_000;
const drawn = (seed: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: DRAWS }, () => random.float());
};

describe('numbers from a seed', () => {
  test('are the same for the same seed, and others for the next one', () => {
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(7)).not.toEqual(drawn(8));
  });

  test.each([0, 1, 4740, 2 ** 31])('do not repeat themselves (seed %i)', (seed) => {
    const numbers = drawn(seed);
    // Of 100,000 numbers of 32 bits one or two meet by chance.
    expect(new Set(numbers).size).toBeGreaterThan(DRAWS - 20);
  });

  test('are spread evenly, each of their bits too', () => {
    const numbers = drawn(1);
    expect(numbers.reduce((sum, one) => sum + one, 0) / DRAWS).toBeCloseTo(0.5, 2);
    for (let bit = 0; bit < 32; bit += 1) {
      const set = numbers.filter((one) => Math.floor(one * 2 ** 32 * 2 ** -bit) % 2 === 1).length;
      expect(set / DRAWS).toBeCloseTo(0.5, 1);
    }
  });
});
