import { describe, expect, test } from 'vitest';
import { takeAll } from '../../src/std/pulled.ts';

async function* numbers(count: number, onClosed: () => void = () => undefined) {
  try {
    for (let n = 1; n <= count; n += 1) yield n;
  } finally {
    onClosed();
  }
}

describe('taking all items of a sequence', () => {
  test('gives each in its order, and ends with the sequence', async () => {
    const taken: number[] = [];
    await takeAll(numbers(10_000), (n) => void taken.push(n));
    expect(taken).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1));
  });

  test('waits before the next one when it is asked to', async () => {
    const log: string[] = [];
    await takeAll(numbers(2), async (n) => {
      log.push(`begin ${n}`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`end ${n}`);
    });
    expect(log).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2']);
  });

  test('ends with what the sequence throws', async () => {
    async function* failing() {
      yield 1;
      throw new Error('broken');
    }
    await expect(takeAll(failing(), () => undefined)).rejects.toThrow('broken');
  });

  test.each([
    ['at once', () => Promise.reject(new Error('too much'))],
    [
      'later',
      (): undefined => {
        throw new Error('too much');
      },
    ],
  ])('lets the sequence go when its user fails %s', async (_when, use) => {
    let isClosed = false;
    const source = numbers(5, () => {
      isClosed = true;
    });
    await expect(takeAll(source, use)).rejects.toThrow('too much');
    expect(isClosed).toBe(true);
  });

  test('does not pile up calls when items are there already', async () => {
    const source: AsyncIterable<number> = {
      [Symbol.asyncIterator]() {
        let n = 0;
        return {
          next: () => Promise.resolve({ done: true, value: undefined }),
          pull(taker: { item(n: number): void; end(): void }) {
            n += 1;
            if (n <= 100_000) taker.item(n);
            else taker.end();
          },
        };
      },
    };
    let sum = 0;
    await takeAll(source, (n) => {
      sum += n;
      return undefined;
    });
    expect(sum).toBe(5_000_050_000);
  });
});
