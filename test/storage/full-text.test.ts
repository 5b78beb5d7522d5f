import { describe, expect, test } from 'vitest';
import type { TextDocument, TextQuery } from '../../src/storage/contract.ts';
import { storageOfThisTest } from '../support/storage.ts';

async function openTexts(documents: readonly TextDocument[] = []) {
  const { storage, reopen } = await storageOfThisTest();
  const texts = storage.fullText('texts');
  const index = (...more: readonly TextDocument[]): Promise<void> =>
    storage.write('committed', (tx) => {
      for (const document of more) tx.indexText(texts, document);
    });
  const remove = (id: string): Promise<void> => storage.write('committed', (tx) => tx.removeText(texts, id));
  const found = (query: string | TextQuery): string[] =>
    texts.search(typeof query === 'string' ? { text: query, limit: 10 } : query).map(({ id }) => id);
  await index(...documents);
  return { storage, texts, index, remove, found, reopen };
}

describe('a search', () => {
  // By hand, with k1 = 1.2 and b = 0.75. Three documents of 2, 4 and 6 tokens: 4 on average.
  // "red" is in two of three: idf = ln(1 + (3 - 2 + 0.5) / (2 + 0.5)) = ln 1.6 = 0.470004.
  //   short: tf 1, length 2: 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2/4)) = 2.2 / 1.75 = 1.257143, times idf 0.590862
  //   long:  tf 3, length 6: 3 * 2.2 / (3 + 1.2 * (0.25 + 0.75 * 6/4)) = 6.6 / 4.65 = 1.419355, times idf 0.667102
  // "fox" is in one of three: idf = ln(1 + 2.5 / 1.5) = 0.980829.
  //   short: times 1.257143 = 1.233043
  test('ranks by BM25', async () => {
    const { texts } = await openTexts([
      { id: 'short', text: 'red fox' },
      { id: 'middle', text: 'a blue bird sings' },
      { id: 'long', text: 'red red red is my colour' },
    ]);
    const red = texts.search({ text: 'red', limit: 10 });
    expect(red.map(({ id }) => id)).toEqual(['long', 'short']);
    expect(red[0]?.score).toBeCloseTo(0.667102, 5);
    expect(red[1]?.score).toBeCloseTo(0.590862, 5);
    const redFox = texts.search({ text: 'Red FOX red', limit: 10 });
    expect(redFox.map(({ id }) => id)).toEqual(['short', 'long']);
    expect(redFox[0]?.score).toBeCloseTo(0.590862 + 1.233043, 5);
  });

  test('gives at most what was asked for, the best, and of equals the one filed last', async () => {
    const { found, index } = await openTexts();
    for (let number = 0; number < 20; number += 1) await index({ id: `d${number}`, text: 'same words' });
    await index({ id: 'best', text: 'same same' });
    expect(found({ text: 'same', limit: 3 })).toEqual(['best', 'd19', 'd18']);
    expect(found({ text: 'same', limit: 0 })).toEqual([]);
  });

  test('finds nothing for no words, unknown words and an empty index', async () => {
    const { found, index } = await openTexts();
    expect(found('anything')).toEqual([]);
    await index({ id: 'a', text: 'one' });
    expect(found('')).toEqual([]);
    expect(found('!?')).toEqual([]);
    expect(found('two')).toEqual([]);
  });

  test('finds words in any script, spelling and case', async () => {
    const { found } = await openTexts([
      { id: 'french', text: 'Une soirée à Besançon' },
      { id: 'japanese', text: '今日は東京都で会議があります' },
      { id: 'chinese', text: '数据库事务日志' },
      { id: 'russian', text: 'Ёлка и Дед Мороз' },
    ]);
    expect(found('SOIREE')).toEqual(['french']);
    expect(found('東京')).toEqual(['japanese']);
    expect(found('事务')).toEqual(['chinese']);
    expect(found('库')).toEqual(['chinese']);
    expect(found('елка')).toEqual(['russian']);
  });

  test('reads the index of its own name only', async () => {
    const { storage, texts } = await openTexts([{ id: 'a', text: 'word' }]);
    const other = storage.fullText('texts-too');
    await storage.write('committed', (tx) => tx.indexText(other, { id: 'b', text: 'word' }));
    expect(texts.search({ text: 'word', limit: 10 }).map(({ id }) => id)).toEqual(['a']);
    expect(other.search({ text: 'word', limit: 10 }).map(({ id }) => id)).toEqual(['b']);
  });

  test('is as good after a restart', async () => {
    const { texts, reopen } = await openTexts([{ id: 'a', text: 'word' }]);
    const before = texts.search({ text: 'word', limit: 10 });
    const again = (await reopen()).fullText('texts');
    expect(again.search({ text: 'word', limit: 10 })).toEqual(before);
  });
});

describe('a transaction', () => {
  const many = Array.from({ length: 300 }, (_, number) => ({ id: `d${number}`, text: `same word${number}` }));
  const all = { text: 'same', limit: 1_000 };

  test('may file and remove hundreds of documents with the same words', async () => {
    const { storage, texts, found, index } = await openTexts(many);
    expect(found(all)).toHaveLength(300);
    await storage.write('committed', (tx) => {
      for (const { id } of many.slice(50, 290)) tx.removeText(texts, id);
    });
    expect(found(all).toSorted()).toEqual(
      [...many.slice(0, 50), ...many.slice(290)].map(({ id }) => id).toSorted(),
    );
    await index(...many.slice(100, 110));
    expect(found(all)).toHaveLength(70);
    expect(found('word105')).toEqual(['d105']);
  });

  test('that fails leaves nothing of what it filed and removed to the others of its commit', async () => {
    const { storage, texts, found, index } = await openTexts([{ id: 'kept', text: 'same old' }]);
    const failing = storage.write('committed', (tx) => {
      tx.removeText(texts, 'kept');
      tx.indexText(texts, { id: 'never', text: 'same never' });
      throw new Error('on purpose');
    });
    const filed = index({ id: 'after', text: 'same after' });
    await expect(failing).rejects.toThrow('on purpose');
    await filed;
    expect(found('same')).toEqual(['after', 'kept']);
    expect(found('never')).toEqual([]);
  });
});

test('what one user of an index files, another may remove in the same commit', async () => {
  const { storage, texts } = await openTexts([]);
  const others = storage.fullText(texts.name);
  await Promise.all([
    storage.write('committed', (tx) => tx.indexText(others, { id: 'kept', text: 'same words' })),
    storage.write('committed', (tx) => tx.indexText(texts, { id: 'gone', text: 'same words' })),
    storage.write('committed', (tx) => tx.removeText(others, 'gone')),
  ]);
  const alone = await openTexts([{ id: 'kept', text: 'same words' }]);
  const query = { text: 'same', limit: 10 };
  expect(texts.search(query)).toEqual(alone.texts.search(query));
});

describe('a document that is filed again', () => {
  test('is found by its new words and labels alone, and counts once', async () => {
    const { texts, found, index } = await openTexts([
      { id: 'a', text: 'old words', labels: { role: 'user' } },
    ]);
    await index({ id: 'a', text: 'new words here', labels: { role: 'assistant' } });
    expect(found('old')).toEqual([]);
    expect(found('words')).toEqual(['a']);
    expect(found({ text: 'words', limit: 5, where: { role: ['user'] } })).toEqual([]);
    expect(found({ text: 'words', limit: 5, where: { role: ['assistant'] } })).toEqual(['a']);
    expect(texts.documentCount()).toBe(1);
  });

  test('ranks as if the old one had never been', async () => {
    const rewritten = await openTexts([
      { id: 'a', text: 'red red red red red' },
      { id: 'b', text: 'red' },
    ]);
    await rewritten.index({ id: 'a', text: 'blue fox' });
    await rewritten.remove('b');
    await rewritten.index({ id: 'c', text: 'red fox' });
    const fresh = await openTexts([
      { id: 'a', text: 'blue fox' },
      { id: 'c', text: 'red fox' },
    ]);
    const query = { text: 'red blue fox', limit: 10 };
    expect(rewritten.texts.search(query)).toEqual(fresh.texts.search(query));
  });
});

test('a document that is removed is not found, and removing it again does nothing', async () => {
  const { texts, found, remove } = await openTexts([
    { id: 'a', text: 'word' },
    { id: 'b', text: 'word' },
  ]);
  await remove('a');
  await remove('a');
  await remove('never there');
  expect(found('word')).toEqual(['b']);
  expect(texts.documentCount()).toBe(1);
});

describe('a filter', () => {
  const labelled = [
    { id: '1', text: 'shared word', labels: { conversation: 'c1', role: 'user' } },
    { id: '2', text: 'shared word', labels: { conversation: 'c1', role: 'assistant' } },
    { id: '3', text: 'shared word', labels: { conversation: 'c2', role: 'user' } },
    { id: '4', text: 'shared word' },
  ];

  test('admits documents that carry one of the values for every label', async () => {
    const { found } = await openTexts(labelled);
    const where = (filter: NonNullable<TextQuery['where']>): string[] =>
      found({ text: 'shared', limit: 10, where: filter }).sort();
    expect(where({})).toEqual(['1', '2', '3', '4']);
    expect(where({ conversation: ['c1'] })).toEqual(['1', '2']);
    expect(where({ conversation: ['c1'], role: ['user'] })).toEqual(['1']);
    expect(where({ role: ['user', 'assistant'] })).toEqual(['1', '2', '3']);
    expect(where({ conversation: ['c3'] })).toEqual([]);
    expect(where({ role: [] })).toEqual([]);
    expect(where({ unknown: ['x'] })).toEqual([]);
  });

  test('leaves the scores as they are', async () => {
    const { texts } = await openTexts(labelled);
    const [all] = texts.search({ text: 'shared', limit: 1 });
    const [filtered] = texts.search({ text: 'shared', limit: 1, where: { role: ['user'] } });
    expect(filtered?.score).toBe(all?.score);
  });
});

test('a row and its text go together: a write that throws files nothing', async () => {
  const { storage, texts, found } = await openTexts();
  const rows = storage.table<string>({ name: 'rows' });
  const write = (fails: boolean): Promise<void> =>
    storage.write('flushed', (tx) => {
      tx.put(rows, 'a', 'hello there');
      tx.indexText(texts, { id: 'a', text: 'hello there' });
      if (fails) throw new Error('no');
    });
  await expect(write(true)).rejects.toThrow('no');
  expect(found('hello')).toEqual([]);
  await write(false);
  expect(found('hello')).toEqual(['a']);
  expect(rows.count()).toBe(1);
});
