import { expect, test } from 'vitest';
import type { Journals } from '../../src/storage/contract.ts';
import { JournalTail } from '../../src/storage/journal-tail.ts';
import { openTemporaryStorage } from '../support/storage.ts';

const never = new AbortController().signal;
const tailOf = (journals: Journals<number>) => new JournalTail(journals, { show: (entry) => entry });

test('a tail replays what is there, then follows what is appended, without a gap or a repeat', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const tail = tailOf(journals);
  let isOpen = true;
  await journals.append('a', 1, [10, 20, 30]);
  const seen: number[] = [];
  const reading = (async () => {
    for await (const entries of tail.follow('a', 1, () => isOpen, never)) {
      seen.push(...entries.map(({ seq }) => seq));
    }
  })();
  for (let seq = 4; seq <= 200; seq += 1) {
    await journals.append('a', seq, [seq * 10]);
    tail.wake('a');
  }
  isOpen = false;
  tail.wake('a');
  await reading;
  expect(seen).toEqual(Array.from({ length: 199 }, (_, i) => i + 2));
});

test('a tail of a journal that is closed ends when all is read', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  await journals.append('a', 1, [1, 2]);
  const batches = await Array.fromAsync(tailOf(journals).follow('a', 0, () => false, never));
  expect(batches.flat().map(({ value }) => value)).toEqual([1, 2]);
});

test('an aborted reader that waits for more is let go', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const abort = new AbortController();
  const reading = Array.fromAsync(tailOf(journals).follow('a', 0, () => true, abort.signal));
  abort.abort();
  expect(await reading).toEqual([]);
});

test('a reader that stops in the middle does not keep another from its entries', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const tail = tailOf(journals);
  let isOpen = true;
  await journals.append('a', 1, [1]);
  const stopped = tail.follow('a', 0, () => isOpen, never);
  await stopped.next();
  const other = Array.fromAsync(tail.follow('a', 0, () => isOpen, never));
  await journals.append('a', 2, [2]);
  isOpen = false;
  tail.wake('a');
  expect((await other).flat()).toHaveLength(2);
  await stopped.return();
});
