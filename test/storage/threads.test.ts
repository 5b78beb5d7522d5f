import { describe, expect, test } from 'vitest';
import { joinFromThread, storageOfThisTest } from '../support/storage.ts';

describe('threads on one store', () => {
  test('see each other’s writes as soon as these are acknowledged', async () => {
    const { directory, storage } = await storageOfThisTest();
    const values = storage.table<number>({ name: 'values' });
    const thread = await joinFromThread(directory);
    for (let round = 1; round <= 200; round += 1) {
      await storage.write('committed', (tx) => tx.put(values, 'round', round));
      expect(await thread.order({ kind: 'read', key: 'round' })).toEqual({ kind: 'value', value: round });
    }
    await thread.order({ kind: 'increment', times: 1 });
    expect(values.get('counter')).toBe(1);
  });

  test('lose no update when they change the same row', async () => {
    const { directory, storage } = await storageOfThisTest();
    const values = storage.table<number>({ name: 'values' });
    const threads = await Promise.all([joinFromThread(directory), joinFromThread(directory)]);
    const mine = async (): Promise<void> => {
      for (let time = 0; time < 200; time += 1) {
        await storage.write('committed', (tx) =>
          tx.put(values, 'counter', (tx.get(values, 'counter') ?? 0) + 1),
        );
      }
    };
    await Promise.all([mine(), ...threads.map((thread) => thread.order({ kind: 'increment', times: 200 }))]);
    expect(values.get('counter')).toBe(600);
    expect(values.count()).toBe(1);
  });

  test('keep the figures of a full text exact', async () => {
    const { directory, storage } = await storageOfThisTest();
    const texts = storage.fullText('texts');
    const threads = await Promise.all([joinFromThread(directory), joinFromThread(directory)]);
    await Promise.all(
      threads.map((thread, index) =>
        thread.order({ kind: 'index', prefix: `thread${index}`, documents: 40 }),
      ),
    );
    expect(texts.documentCount()).toBe(80);
    expect(texts.search({ text: 'shared', limit: 100 })).toHaveLength(80);
    expect(texts.search({ text: 'thread1', limit: 100 })).toHaveLength(40);
  });

  test('may leave and join while the others go on', async () => {
    const { directory, storage } = await storageOfThisTest();
    const values = storage.table<number>({ name: 'values' });
    for (let round = 1; round <= 3; round += 1) {
      const thread = await joinFromThread(directory);
      await thread.order({ kind: 'increment', times: 5 });
      await thread.order({ kind: 'close' });
      await thread.kill();
      expect(values.get('counter')).toBe(round * 5);
    }
  });
});

describe('a thread that is killed', () => {
  test('in the midst of its writes leaves whole commits, and everyone else able to write', async () => {
    const { directory, storage } = await storageOfThisTest();
    const values = storage.table<number>({ name: 'values' });
    const paired = storage.table<{ readonly round: number; readonly filler: string }>({ name: 'paired' });
    const journals = storage.journals<{ readonly seq: number; readonly filler: string }>('journals');
    const filler = 'x'.repeat(500);
    for (let round = 1; round <= 12; round += 1) {
      const thread = await joinFromThread(directory);
      await thread.order({ kind: 'write-for-good', rowsTogether: 5 });
      // Some of our own commits later it is somewhere in the middle of one of its own.
      for (let commit = 0; commit < round; commit += 1) {
        await storage.write('committed', (tx) => tx.put(values, 'mine', commit));
      }
      await thread.kill();
      await storage.write('committed', (tx) => tx.put(values, 'after', round));
      expect(values.get('after')).toBe(round);

      const rows = Array.from(paired.range(), ({ value }) => value);
      expect(rows).toHaveLength(5);
      expect(new Set(rows.map((row) => row.round)).size).toBe(1);
      const entries = journals.read('killed', 0, { entriesMax: Infinity, bytesMax: Infinity });
      expect(entries.every(({ seq, value }, index) => seq === index + 1 && value.seq === seq)).toBe(true);
      expect(entries.every(({ value }) => value.filler === filler)).toBe(true);
      expect(entries.length % 2).toBe(0);
    }
  });

  test('or hangs for good with a write on its way holds nobody up', async () => {
    const { directory, storage } = await storageOfThisTest();
    const values = storage.table<number>({ name: 'values' });
    const thread = await joinFromThread(directory);
    await thread.order({ kind: 'write-and-hang' });
    for (let round = 1; round <= 20; round += 1) {
      await storage.write('flushed', (tx) => tx.put(values, 'round', round));
    }
    expect(values.get('round')).toBe(20);
    await thread.kill();
    await storage.write('committed', (tx) => tx.put(values, 'round', 21));
    expect(values.get('round')).toBe(21);
  });
});
