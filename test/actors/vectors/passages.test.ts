// Passages through the door: what is acknowledged is found, by words, by meaning and by both; what is removed is not.

import { afterAll, describe, expect, test } from 'vitest';
import { DOCUMENTS, type NewPassage } from '../../../src/actors/vectors/protocol.ts';
import { startVectors, type VectorsSystem } from '../../support/vectors.ts';

const ENGINE = 'test-1';
const collection = DOCUMENTS;
const collections = [collection];

/** A vector that points where the numbers say. */
const embedding = (...vector: readonly number[]) => ({ engine: ENGINE, vector: new Float32Array(vector) });
const passage = (id: string, text: string, more: Partial<NewPassage> = {}): NewPassage => ({
  id,
  owner: 'ada',
  text,
  ...more,
});

const EAST = passage('east', 'the sun comes up', { embedding: embedding(1, 0) });
const NORTH = passage('north', 'it is cold up here', { embedding: embedding(0, 1) });
const NORTH_EAST = passage('north-east', 'a mild morning', { embedding: embedding(3, 3) });

const opened = await startVectors();
afterAll(() => opened.close());

/** These, and no others. */
async function openWith(...passages: NewPassage[]): Promise<VectorsSystem> {
  for (const name of [collection, 'facts']) {
    const ids = [...opened.storage.passages(name).ids()];
    await opened.vectors.ask('delete', { collection: name, ids });
  }
  await opened.vectors.ask('put', { collection, passages });
  return opened;
}

const near = async ({ vectors }: VectorsSystem, vector: readonly number[], more: object = {}) => {
  const asked = { collections, ...embedding(...vector), k: 10, ...more };
  return (await vectors.ask('search', asked)).hits;
};
const idsOf = (hits: readonly { readonly id: string }[]): string[] => hits.map(({ id }) => id);

describe('a passage', () => {
  test('is found by its vector, the nearest first', async () => {
    await openWith(EAST, NORTH, NORTH_EAST);
    const hits = await near(opened, [1, 0.1]);
    expect(idsOf(hits)).toEqual(['east', 'north-east', 'north']);
    expect(hits[0]).toMatchObject({ collection, owner: 'ada', tags: [], text: 'the sun comes up' });
    expect(hits[0]?.score).toBeCloseTo(Math.cos(Math.atan(0.1)), 5);
  });

  test('is replaced under its id, words and vector', async () => {
    await openWith(EAST, NORTH);
    await opened.vectors.ask('put', {
      collection,
      passages: [{ ...EAST, text: 'the sun goes down', embedding: embedding(-1, 0) }],
    });
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['north', 'east']);
    const words = (text: string) => opened.vectors.ask('hybrid', { collections, text, k: 5 });
    expect(idsOf((await words('sun down')).hits)).toEqual(['east']);
    expect((await words('comes')).hits).toEqual([]);
  });

  test('keeps its vector when it is put without one, as long as its text is the same', async () => {
    await openWith(EAST, NORTH);
    const { embedding: _, ...same } = EAST;
    await opened.vectors.ask('put', { collection, passages: [{ ...same, owner: 'bob', tags: ['x'] }] });
    expect(idsOf(await near(opened, [1, 0], { owners: ['bob'], tags: ['x'] }))).toEqual(['east']);
    await opened.vectors.ask('put', { collection, passages: [{ ...same, text: 'something else' }] });
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['north']);
  });

  test('that was written in a transaction of somebody else is found by the next search', async () => {
    await openWith(NORTH);
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['north']);
    const passages = opened.storage.passages(collection);
    await opened.storage.write('flushed', (tx) => tx.putPassage(passages, EAST));
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['east', 'north']);
    await opened.storage.write('flushed', (tx) => void tx.removePassage(passages, 'north'));
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['east']);
  });
});

describe('a filter', () => {
  test('lets through one of the owners and one of the tags', async () => {
    await openWith(
      { ...EAST, owner: 'ada', tags: ['day', 'warm'] },
      { ...NORTH, owner: 'bob', tags: ['cold'] },
      { ...NORTH_EAST, owner: 'eve', tags: ['day'] },
    );
    expect(idsOf(await near(opened, [1, 0], { owners: ['bob', 'eve'] }))).toEqual(['north-east', 'north']);
    expect(idsOf(await near(opened, [1, 0], { tags: ['cold', 'warm'] }))).toEqual(['east', 'north']);
    expect(idsOf(await near(opened, [1, 0], { owners: ['ada'], tags: ['cold'] }))).toEqual([]);
    expect(await near(opened, [1, 0], { owners: [] })).toEqual([]);
    const { hits } = await opened.vectors.ask('hybrid', { collections, text: 'up', k: 5, tags: ['cold'] });
    expect(idsOf(hits)).toEqual(['north']);
  });
});

describe('a replacement', () => {
  test('leaves no other passage under its prefix', async () => {
    await openWith(
      passage('doc1#0', 'one'),
      passage('doc1#1', 'two'),
      passage('doc1#2', 'three'),
      passage('doc10#0', 'another document'),
    );
    const { removed } = await opened.vectors.ask('replace', {
      collection,
      prefix: 'doc1#',
      passages: [passage('doc1#0', 'uno', { embedding: embedding(1, 0) })],
    });
    expect(removed).toBe(2);
    expect([...opened.storage.passages(collection).ids()]).toEqual(['doc10#0', 'doc1#0'].sort());
    expect(idsOf(await near(opened, [1, 0]))).toEqual(['doc1#0']);
  });

  test('of many portions arrives whole', async () => {
    await openWith();
    const many = (count: number, word: string): NewPassage[] =>
      Array.from({ length: count }, (_, n) => passage(`d#${n}`, `${word} ${n}`));
    await opened.vectors.ask('put', { collection, passages: many(700, 'old') });
    const { removed } = await opened.vectors.ask('replace', {
      collection,
      prefix: 'd#',
      passages: many(300, 'new'),
    });
    expect(removed).toBe(400);
    const kept = opened.storage.passages(collection);
    expect(kept.count()).toBe(300);
    expect(kept.searchWords({ text: 'old', limit: 10 })).toEqual([]);
    expect(kept.searchWords({ text: 'new', limit: 400 })).toHaveLength(300);
  });
});

describe('a removal', () => {
  test('takes what is named, what begins so, or all of an owner', async () => {
    await openWith(
      passage('a#0', 'word', { owner: 'ada' }),
      passage('a#1', 'word', { owner: 'ada' }),
      passage('b#0', 'word', { owner: 'bob' }),
      passage('b#1', 'word', { owner: 'bob' }),
      passage('c#0', 'word', { owner: 'eve' }),
    );
    const left = () => [...opened.storage.passages(collection).ids()];
    const remove = (selection: object) => opened.vectors.ask('delete', { collection, ...selection });
    expect(await remove({ ids: ['a#0', 'nobody'] })).toEqual({ removed: 1 });
    expect(left()).toEqual(['a#1', 'b#0', 'b#1', 'c#0']);
    expect(await remove({ owner: 'bob' })).toEqual({ removed: 2 });
    expect(await remove({ prefix: 'a#' })).toEqual({ removed: 1 });
    expect(await remove({})).toEqual({ removed: 0 });
    expect(left()).toEqual(['c#0']);
  });
});

describe('hybrid search', () => {
  test('puts first what is found by its words and by its meaning, and says where each was', async () => {
    await openWith(
      passage('both', 'cats and dogs', { embedding: embedding(1, 0.2) }),
      passage('words', 'cats', { embedding: embedding(-1, 0) }),
      passage('meaning', 'felines', { embedding: embedding(1, 0) }),
    );
    const { hits, by, note } = await opened.vectors.ask('hybrid', {
      collections,
      text: 'cats',
      embedding: embedding(1, 0),
      k: 3,
    });
    expect({ by, note }).toEqual({ by: 'words_and_meaning', note: null });
    expect(hits.map(({ id, words_rank, meaning_rank }) => [id, words_rank, meaning_rank])).toEqual([
      ['words', 1, 3],
      ['both', 2, 2],
      ['meaning', null, 1],
    ]);
    expect(hits[0]?.score).toBeCloseTo(1 / 61 + 1 / 63, 10);
    expect(hits[1]?.score).toBeCloseTo(2 / 62, 10);
  });

  test('goes by the words alone where nothing was embedded, and says so', async () => {
    await openWith(passage('one', 'cats'));
    const answer = await opened.vectors.ask('hybrid', { collections, text: 'cats', k: 3 });
    expect(idsOf(answer.hits)).toEqual(['one']);
    expect(answer).toMatchObject({ by: 'words', note: 'nothing has been embedded yet' });
  });

  test('asks several collections at once', async () => {
    await openWith(passage('one', 'cats', { embedding: embedding(1, 0) }));
    await opened.vectors.ask('put', {
      collection: 'facts',
      passages: [passage('one', 'cats sleep', { embedding: embedding(0, 1) })],
    });
    const asked = { collections: [collection, 'facts', 'empty'], text: 'cats', k: 5 };
    const { hits } = await opened.vectors.ask('hybrid', { ...asked, embedding: embedding(0, 1) });
    expect(hits.map((hit) => [hit.collection, hit.id])).toEqual([
      ['facts', 'one'],
      [collection, 'one'],
    ]);
  });
});

test.each<[string, Partial<NewPassage>]>([
  ['an empty id', { id: '' }],
  ['half a character in an owner', { owner: 'a\ud800' }],
  ['too many tags', { tags: Array.from({ length: 16 }, (_, n) => `t${n}`) }],
  ['a vector that is not a number', { embedding: embedding(Number.NaN, 1) }],
  ['a vector of nothing', { embedding: embedding() }],
  ['a vector of another length than the others of its engine', { embedding: embedding(1, 0, 0) }],
])('%s is refused, and nothing is filed', async (_, wrong) => {
  await openWith(EAST);
  const passages = [passage('good', 'good'), passage('wrong', 'wrong', wrong)];
  await expect(opened.vectors.ask('put', { collection, passages })).rejects.toMatchObject({
    code: 'vectors_invalid',
  });
  expect([...opened.storage.passages(collection).ids()]).toEqual(['east']);
});
