import { expect, test } from 'vitest';
import { Fifo } from '../../src/std/fifo.ts';

test('what comes first leaves first, what is put before all others before them', () => {
  const queue = new Fifo<string>();
  for (const item of ['b', 'c']) queue.push(item);
  queue.unshift('a');
  expect([queue.first, queue.last, queue.isEmpty]).toEqual(['a', 'c', false]);
  expect([queue.shift(), queue.shift(), queue.shift(), queue.shift()]).toEqual(['a', 'b', 'c', undefined]);
  expect([queue.first, queue.last, queue.isEmpty]).toEqual([undefined, undefined, true]);
});

test.each([
  ['the head', 0, 'bc'],
  ['the middle', 1, 'ac'],
  ['the end', 2, 'ab'],
])('%s can be taken out', (_, index, left) => {
  const queue = new Fifo<string>();
  const places = [...'abc'].map((item) => queue.push(item));
  const place = places[index];
  if (place !== undefined) queue.remove(place);
  queue.push('d');
  expect(Array.from({ length: 3 }, () => queue.shift()).join('')).toBe(`${left}d`);
});
