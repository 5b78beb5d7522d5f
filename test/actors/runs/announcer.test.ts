import { expect, test } from 'vitest';
import { Announcer } from '../../../src/actors/runs/announcer.ts';

test('runs whose events are committed together are announced together, each once, up to its last event', async () => {
  const told: (readonly (readonly [string, number])[])[] = [];
  const announcer = new Announcer((lastSeqs) => told.push(lastSeqs));
  const commit = Promise.resolve();
  const commits = [
    ['a', 3],
    ['b', 1],
    ['a', 5],
    ['c', 2],
  ] as const;
  await Promise.all(commits.map(([run, seq]) => commit.then(() => announcer.appended(run, seq))));
  const first = [
    ['a', 5],
    ['b', 1],
    ['c', 2],
  ];
  expect(told).toEqual([first]);
  announcer.appended('b', 4);
  await commit;
  expect(told).toEqual([first, [['b', 4]]]);
});
