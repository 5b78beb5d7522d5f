// The order of events of each kind of turn, over real HTTP, against a provider double.

import { expect, test } from 'vitest';
import type { ReadEvent } from '../../support/sse-reader.ts';
import { openTroupe } from '../../support/troupe.ts';

/** Event names, with the phase of a status; runs of chunks count as one. */
function orderOf(events: readonly ReadEvent[]): string[] {
  const names = events.map(({ event, data }) => (event === 'status' ? `status(${data.phase})` : event));
  return names.filter((name, i) => name !== 'chunk' || names[i - 1] !== 'chunk');
}

test('a plain turn: started, recalling, composing, start, thinking, chunks, done, close', async () => {
  await using app = await openTroupe({ script: { text: 'The answer is 42.', chunkChars: 4 } });
  const events = await (await app.chat({ message: 'What is the answer?' })).rest();
  expect(orderOf(events)).toEqual([
    'run_started',
    'status(recalling)',
    'status(composing)',
    'start',
    'status(thinking)',
    'chunk',
    'done',
    'close',
  ]);
  const text = events.flatMap(({ event, data }) => (event === 'chunk' ? [data.content] : [])).join('');
  expect(text).toBe('The answer is 42.');
});

test('the frames are numbered from 1 without a gap, but for the first, which is not stored', async () => {
  await using app = await openTroupe();
  const [first, ...stored] = await (await app.chat({ message: 'Hello' })).rest();
  expect(first).toMatchObject({ id: undefined, event: 'run_started' });
  expect(stored.map(({ id }) => id)).toEqual(stored.map((_, i) => i + 1));
});
