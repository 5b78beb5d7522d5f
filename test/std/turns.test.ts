import { expect, test } from 'vitest';
import { Turns } from '../../src/std/turns.ts';

test('work with one thing is done in the order in which it was asked for, also behind what has failed', async () => {
  const turns = new Turns();
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const failing = turns.take('one', async () => {
    await gate.promise;
    done.push('first');
    throw new Error('the first fails');
  });
  const second = turns.take('one', async () => done.push('second'));
  const third = turns.take('one', async () => done.push('third'));
  await turns.take('other', async () => done.push('beside'));
  expect(done).toEqual(['beside']);
  gate.resolve();
  await expect(failing).rejects.toThrow('the first fails');
  expect(await Promise.all([second, third])).toEqual([3, 4]);
  expect(done).toEqual(['beside', 'first', 'second', 'third']);
});
