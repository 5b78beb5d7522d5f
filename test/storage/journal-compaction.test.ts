import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/std/clock.ts';
import { encodeValue } from '../../src/storage/codec.ts';
import type { Journals } from '../../src/storage/contract.ts';
import { framed } from '../../src/storage/journal-frames.ts';
import { areaOf } from '../../src/storage/journal-spans.ts';
import { encodeKey, joinKey } from '../../src/storage/key.ts';
import { EAGER, LAZY, openJournalParts } from '../support/journal-parts.ts';
import { folderOfThisTest, joinFromThread } from '../support/storage.ts';

const NAME = 'ordered';
const UNLIMITED = { entriesMax: Infinity, bytesMax: Infinity };

const texts = (firstSeq: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `event ${firstSeq + index} of a journal`);

/** One append after the other, so that each lies in a page of its own. */
async function appendApart(journals: Journals<string>, id: string, count: number): Promise<void> {
  const before = journals.lastSeq(id);
  for (let seq = before + 1; seq <= before + count; seq += 1) await journals.append(id, seq, texts(seq, 1));
}

/** That the journal holds `texts(1, count)`, from wherever it is read. */
function expectWhole(journals: Journals<string>, id: string, count: number): void {
  expect(journals.lastSeq(id)).toBe(count);
  for (const afterSeq of [0, 1, Math.floor(count / 2), count - 1]) {
    const entries = journals.read(id, afterSeq, UNLIMITED);
    expect(entries.map(({ seq }) => seq)).toEqual(
      Array.from({ length: count - afterSeq }, (_, index) => afterSeq + 1 + index),
    );
    expect(entries.map(({ value }) => value)).toEqual(texts(afterSeq + 1, count - afterSeq));
  }
}

describe('compaction', () => {
  test('lays sealed journals out for reading, and leaves nothing of them in the log', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const journals = parts.journals<string>(NAME);
    for (const id of ['a', 'b']) {
      await appendApart(journals, id, 30);
      await journals.append(id, 31, texts(31, 2_000));
    }
    expect(parts.pages()).toBeGreaterThan(50);
    await journals.seal('a');
    await parts.compaction.work();
    expect(parts.pages()).toBeGreaterThan(0);
    await journals.seal('b');
    await parts.compaction.work();
    expect(parts.pages()).toBe(0);
    for (const id of ['a', 'b']) expectWhole(journals, id, 2_030);
    expect([...journals.ids()]).toEqual(['a', 'b']);

    await parts.close();
    const again = openJournalParts(directory).journals<string>(NAME);
    for (const id of ['a', 'b']) expectWhole(again, id, 2_030);
  });

  test('packs alike entries, and leaves those alone that packing would not shorten', async () => {
    const parts = openJournalParts(await folderOfThisTest());
    const journals = parts.journals<string>(NAME);
    const noise = Array.from({ length: 300 }, () => crypto.randomUUID());
    await journals.append('alike', 1, texts(1, 5_000));
    await journals.append('noise', 1, noise);
    await journals.append('large', 1, ['x'.repeat(500_000)]);
    for (const id of ['alike', 'noise', 'large']) await journals.seal(id);
    const before = parts.environment.sizeOf('log').bytes;
    await parts.compaction.work();
    expect(parts.environment.sizeOf('journals').bytes).toBeLessThan(500_000 + before / 2);
    expectWhole(journals, 'alike', 5_000);
    expect(journals.read('noise', 0).map(({ value }) => value)).toEqual(noise);
    expect(journals.read('large', 0)).toEqual([{ seq: 1, value: 'x'.repeat(500_000) }]);
  });

  test('remembers a seal across a restart; what is appended later makes it void', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const journals = parts.journals<string>(NAME);
    await appendApart(journals, 'a', 3);
    await journals.seal('a');
    await appendApart(journals, 'b', 3);
    await journals.seal('b');
    await appendApart(journals, 'b', 1);
    await journals.seal('unknown');
    await parts.close();

    const again = openJournalParts(directory);
    await again.compaction.work();
    expect(again.environment.sizeOf('journals').keys).toBe(1);
    expectWhole(again.journals<string>(NAME), 'a', 3);
    expectWhole(again.journals<string>(NAME), 'b', 4);
  });

  test('takes the older part of a long journal while it goes on', async () => {
    const parts = openJournalParts(await folderOfThisTest(), { ...LAZY, positionsRipe: 8, positionsMax: 5 });
    const journals = parts.journals<string>(NAME);
    for (let round = 1; round <= 5; round += 1) {
      await appendApart(journals, 'a', 9);
      await parts.compaction.work();
      expect(parts.pages()).toBeLessThan(20);
      expectWhole(journals, 'a', round * 9);
    }
  });

  test('takes whole pages of a journal, also when it wants less', async () => {
    const parts = openJournalParts(await folderOfThisTest(), { ...LAZY, positionsRipe: 4, positionsMax: 4 });
    const journals = parts.journals<string>(NAME);
    // Called in one turn: they share a page.
    await Promise.all(texts(1, 10).map((text, index) => journals.append('a', index + 1, [text])));
    await appendApart(journals, 'a', 2);
    await parts.compaction.work();
    expectWhole(journals, 'a', 12);
  });

  test('frees the oldest pages when the log has grown too much, whoever holds them', async () => {
    const parts = openJournalParts(await folderOfThisTest(), { ...LAZY, logPagesMax: 10 });
    const journals = parts.journals<string>(NAME);
    for (let id = 0; id < 40; id += 1) await appendApart(journals, `journal ${id}`, 2);
    expect(parts.pages()).toBe(80);
    await parts.compaction.work();
    expect(parts.pages()).toBeLessThan(30);
    for (let id = 0; id < 40; id += 1) expectWhole(journals, `journal ${id}`, 2);
  });

  test('does not bring back what expires while it works', async () => {
    const parts = openJournalParts(await folderOfThisTest());
    const journals = parts.journals<string>(NAME);
    for (let turns = 0; turns < 40; turns += 1) {
      const id = `journal ${turns}`;
      await appendApart(journals, id, 3);
      await journals.seal(id);
      const working = parts.compaction.work();
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      await journals.expire(id);
      expect(journals.lastSeq(id)).toBe(0);
      await working;
      expect(journals.lastSeq(id)).toBe(0);
      expect(journals.read(id, 0)).toEqual([]);
    }
    expect([...journals.ids()]).toEqual([]);
    expect(parts.environment.sizeOf('journals').keys).toBe(0);
  });

  test('begins no pause when it is stopped in the middle of a step, which may have taken long', async () => {
    const parts = openJournalParts(await folderOfThisTest());
    const journals = parts.journals<string>(NAME);
    await appendApart(journals, 'a', 3);
    await journals.seal('a');
    const [committing, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const commit = parts.environment.commit.bind(parts.environment);
    vi.spyOn(parts.environment, 'commit').mockImplementationOnce(async (...given) => {
      committing.resolve();
      await held.promise;
      return commit(...given);
    });
    void parts.compaction.work();
    await committing.promise;
    for (const endMs = performance.now() + 10; performance.now() < endMs; );
    const pauses = vi.spyOn(systemClock, 'startTimer');
    onTestFinished(() => pauses.mockRestore());
    const stopped = parts.compaction.stop();
    held.resolve();
    await stopped;
    expect(pauses).not.toHaveBeenCalled();
  });

  test('ends between two steps when it is stopped, and goes on when the store is opened again', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const journals = parts.journals<string>(NAME);
    for (let id = 0; id < 300; id += 1) {
      await journals.append(`${id}`, 1, texts(1, 200));
      void journals.seal(`${id}`);
    }
    const working = parts.compaction.work();
    await new Promise(setImmediate);
    await parts.close();
    await working;
    const again = openJournalParts(directory);
    expect(again.pages()).toBeGreaterThan(0);
    await again.compaction.work();
    expect(again.pages()).toBe(0);
    for (let id = 0; id < 300; id += 1) expectWhole(again.journals<string>(NAME), `${id}`, 200);
  });
});

describe('the log', () => {
  test('lets a journal begin again after it has expired, across a restart, too', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const journals = parts.journals<string>(NAME);
    await appendApart(journals, 'a', 5);
    await journals.expire('a');
    expect(journals.lastSeq('a')).toBe(0);
    await appendApart(journals, 'a', 2);
    expectWhole(journals, 'a', 2);
    await parts.close();
    expectWhole(openJournalParts(directory).journals<string>(NAME), 'a', 2);
  });

  test('keeps what says that a journal is gone as long as pages are left that say otherwise', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const thread = await joinFromThread(directory);
    for (const id of ['kept', 'gone']) {
      await thread.order({ kind: 'append', journal: id, firstSeq: 1, values: texts(1, 3) });
    }
    await parts.journals<string>(NAME).expire('gone');
    await parts.compaction.work();
    await parts.close();
    const again = openJournalParts(directory);
    const journals = again.journals<string>(NAME);
    expect([...journals.ids()]).toEqual(['kept']);
    expectWhole(journals, 'kept', 3);
    await journals.seal('kept');
    await again.compaction.work();
    expect(again.pages()).toBe(0);
  });

  test('is read rightly by a thread that was asleep while everything in it was moved or removed', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory);
    const journals = parts.journals<string>(NAME);
    const thread = await joinFromThread(directory);
    const onThread = async (id: string): Promise<unknown> =>
      (await thread.order({ kind: 'readJournal', journal: id, afterSeq: 0 })).value;
    for (const id of ['moved', 'gone', 'again']) await appendApart(journals, id, 4);
    expect(await onThread('gone')).toHaveLength(4);
    await journals.seal('moved');
    for (const id of ['gone', 'again']) await journals.expire(id);
    await parts.compaction.work();
    expect(parts.pages()).toBe(0);
    await appendApart(journals, 'again', 1);
    expect(await onThread('moved')).toEqual(journals.read('moved', 0));
    expect(await onThread('moved')).toHaveLength(4);
    expect(await onThread('gone')).toEqual([]);
    expect(await onThread('again')).toHaveLength(1);
    expect((await thread.order({ kind: 'lastSeq', journal: 'gone' })).value).toBe(0);
  });

  test('is written by one thread after the other', async () => {
    const directory = await folderOfThisTest();
    const parts = openJournalParts(directory, EAGER);
    const journals = parts.journals<string>(NAME);
    for (let round = 0; round < 3; round += 1) {
      const thread = await joinFromThread(directory);
      await appendApart(journals, 'a', 2);
      const firstSeq = journals.lastSeq('a') + 1;
      await thread.order({ kind: 'append', journal: 'a', firstSeq, values: texts(firstSeq, 3) });
      await thread.kill();
      await parts.compaction.work();
      expectWhole(journals, 'a', (round + 1) * 5);
    }
    await journals.seal('a');
    await parts.compaction.work();
    expect(parts.pages()).toBe(0);
    expectWhole(journals, 'a', 15);
  });
});

test('journals of before there was a log are read, go on, and are sealed and expire as all do', async () => {
  const parts = openJournalParts(await folderOfThisTest());
  const recordOf = (firstSeq: number, count: number) => ({
    space: 'journals' as const,
    key: joinKey(areaOf(NAME, 'old'), encodeKey(firstSeq + count - 1)),
    value: framed(texts(firstSeq, count).map(encodeValue)),
  });
  const unconditional = [recordOf(1, 1), recordOf(2, 40), recordOf(42, 9)];
  await parts.environment.commit({
    unconditional,
    conditions: new Map(),
    conditional: [],
    notes: new Map(),
  });
  const journals = parts.journals<string>(NAME);
  expectWhole(journals, 'old', 50);
  await appendApart(journals, 'old', 5);
  expectWhole(journals, 'old', 55);
  await journals.seal('old');
  await parts.compaction.work();
  expectWhole(journals, 'old', 55);
  await journals.expire('old');
  expect([...journals.ids()]).toEqual([]);
});
