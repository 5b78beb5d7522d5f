// Vectors that are missing, and those of another engine: made in the background, from the text alone.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOCUMENTS, type NewPassage } from '../../../src/actors/vectors/protocol.ts';
import { SMALL_BERT, writeBertFolder } from '../../support/bert-model.ts';
import { eventually } from '../../support/eventually.ts';
import { openVectors, type VectorsSystem } from '../../support/vectors.ts';

const collection = DOCUMENTS;

const TEXTS = [
  'The invoices of the bakery are paid within thirty days.',
  'Sourdough rises slowly in a cool kitchen.',
  'The night train leaves from platform nine.',
];
const passages = TEXTS.map((text, n): NewPassage => ({ id: `doc#${n}`, owner: 'ada', text }));
/** Enough that an engine is changed while they are under way. */
const many = Array.from(
  { length: 300 },
  (_, n): NewPassage => ({
    id: `many#${n}`,
    owner: 'bob',
    text: `Sentence number ${n} tells of a different thing: ${n * 7_919}.`,
  }),
);

const ask = ({ vectors }: VectorsSystem, text: string) =>
  vectors.ask('hybrid', { collections: [collection], text, k: 2 });
const made = ({ storage }: VectorsSystem) => storage.passages(collection).engines();
/** How many vectors each engine has, by its dimensions. */
const counts = (opened: VectorsSystem) => made(opened).map(({ dimensions, count }) => [dimensions, count]);

test('passages that were filed without a vector get one, and are found by their meaning too', async () => {
  const opened = await openVectors({ withEngine: true });
  await opened.vectors.ask('put', { collection, passages });
  await eventually(() => counts(opened)).toEqual([[384, TEXTS.length]]);
  // Misspelt: no word of it is in the text.
  const { hits, by, note } = await ask(opened, 'sourdouhg risess');
  expect({ by, note }).toEqual({ by: 'words_and_meaning', note: null });
  expect(hits[0]).toMatchObject({ id: 'doc#1', words_rank: null, meaning_rank: 1 });
});

test('of another engine all are made again, over a restart, while the old ones serve; then those are gone', async () => {
  let opened = await openVectors({ withEngine: true });
  const model_dir = await writeBertFolder(join(opened.directory, 'small-bert'), SMALL_BERT);
  await opened.vectors.ask('put', { collection, passages: [...passages, ...many] });
  const total = passages.length + many.length;
  await eventually(() => counts(opened)).toEqual([[384, total]]);

  await opened.configure({ embeddings: { model_dir } });
  await eventually(() => made(opened).some(({ dimensions }) => dimensions === 16)).toBe(true);
  // Old or new: some vectors of all passages serve.
  const found = async () => {
    const { hits, by } = await ask(opened, TEXTS[1] as string);
    return [by, hits[0]?.id, hits[0]?.meaning_rank];
  };
  expect(await found()).toEqual(['words_and_meaning', 'doc#1', 1]);
  opened = await opened.restart();
  await opened.engines(({ current, next }) => current?.dimensions === 16 && next === null);
  await eventually(() => counts(opened)).toEqual([[16, total]]);
  expect(await found()).toEqual(['words_and_meaning', 'doc#1', 1]);
}, 60_000);

test('an engine that makes not one vector is not switched to, and nothing is given up for it', async () => {
  const module = new URL('../../support/frail-embedder.ts', import.meta.url).href;
  const opened = await openVectors({
    withEngine: true,
    embedder: { module, exportName: 'fussyEmbedder' },
  });
  const model_dir = await writeBertFolder(join(opened.directory, 'small-bert'), SMALL_BERT);
  await opened.vectors.ask('put', { collection, passages });
  await eventually(() => counts(opened)).toEqual([[384, passages.length]]);
  await opened.configure({ embeddings: { model_dir } });
  await opened.engines(({ next }) => next?.dimensions === 16);
  const state = async () =>
    (await opened.system.introspection.getState('vectors')) as Record<string, unknown>;
  await eventually(state).toMatchObject({
    reEmbedding: { done: 0, waitsFor: expect.stringContaining('no vector') },
  });
  expect(counts(opened)).toEqual([[384, passages.length]]);
  expect((await ask(opened, 'sourdouhg risess')).hits[0]).toMatchObject({ id: 'doc#1', meaning_rank: 1 });
  // Another mind, and all is as it was.
  await opened.configure({ embeddings: { model_dir: '' } });
  await opened.engines(({ current, next }) => current?.dimensions === 384 && next === null);
});

test('a change of mind gives up what was begun', async () => {
  const opened = await openVectors({ withEngine: true });
  const model_dir = await writeBertFolder(join(opened.directory, 'small-bert'), SMALL_BERT);
  await opened.vectors.ask('put', { collection, passages: [...passages, ...many] });
  const total = passages.length + many.length;
  await eventually(() => counts(opened)).toEqual([[384, total]]);
  await opened.configure({ embeddings: { model_dir } });
  await eventually(() => made(opened).some(({ dimensions }) => dimensions === 16)).toBe(true);
  await opened.configure({ embeddings: { model_dir: '' } });
  await opened.engines(({ current, next }) => current !== null && next === null);
  await eventually(() => counts(opened)).toHaveLength(1);
  await eventually(() => made(opened)[0]?.count).toBe(total);
}, 60_000);
