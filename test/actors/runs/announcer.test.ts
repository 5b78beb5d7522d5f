import { expect, test } from 'vitest';
import { Announcer } from '../../../src/actors/runs/announcer.ts';

test('runs whose events are committed together are announced together, each once', async () => {
  const told: (readonly string[])[] = [];
  const announcer = new Announcer((runIds) => told.push(runIds));
  const commit = Promise.resolve();
  const writers = ['a', 'b', 'a', 'c'].map((run) => commit.then(() => announcer.appended(run)));
  await Promise.all(writers);
  expect(told).toEqual([['a', 'b', 'c']]);
  announcer.appended('b');
  await commit;
  expect(told).toEqual([['a', 'b', 'c'], ['b']]);
});
