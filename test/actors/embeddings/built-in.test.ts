import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  LEXICAL_SHA256,
  lexicalModel,
  lexicalModelFile,
} from '../../../src/actors/embeddings/lexical-model.ts';
import { sha256Hex } from '../../../src/std/hashes.ts';
import { cosine, openEmbeddings } from './embeddings-system.ts';

test('the model is generated the same to the last byte, which its hash says', () => {
  expect(sha256Hex(lexicalModel())).toBe(LEXICAL_SHA256);
});

test('it is in the data folder from the first start, and made again when it is damaged', async () => {
  const first = await openEmbeddings();
  const file = lexicalModelFile(first.modelsFolder);
  expect(sha256Hex(await readFile(file))).toBe(LEXICAL_SHA256);
  expect(await first.threads()).toBe(0);
  await writeFile(file, 'damaged');
  const again = await first.restart();
  expect((await again.embed(['a text']))[0]).toHaveLength(384);
  expect(sha256Hex(await readFile(file))).toBe(LEXICAL_SHA256);
});

test('the vectors stay what they are: other ones would be another engine', async () => {
  const { embed } = await openEmbeddings();
  const [vector] = await embed(['Rivers, 東京 and naïve cafés: 3 words of Привет.']);
  const rounded = Array.from(vector ?? [], (value) => Math.round(value * 1e4));
  expect(sha256Hex(JSON.stringify(rounded))).toMatchInlineSnapshot(
    `"615a9f26a214c00620698bfac240355b20869f9e3dfcd7ecb2ae2a55e9819c3b"`,
  );
});

describe('what is alike in its words is found before what is not', async () => {
  const PAIRS: readonly (readonly [string, string])[] = [
    ['How do I reset my password?', 'Password reset instructions'],
    ['receive the package', 'recieve teh pakage'],
    ['running shoes for runners', 'run shoe runner'],
    ['Rechnungen bezahlen', 'eine Rechnung bezahlt'],
    ['Kubernetes cluster upgrade', 'upgrading kuberntes clusters'],
    ['configuration of the network interface', 'configuring network interfaces'],
    ['погода в Москве', 'московская погода'],
    ['東京都の天気予報', '天気予報 東京'],
    ['une crème brûlée', 'CREME BRULEE recette'],
    ['ﬁnancial ｒｅｐｏｒｔ', 'financial reports'],
  ];

  test('a question finds its passage among all of the others', async () => {
    const { embed } = await openEmbeddings();
    const passages = await embed(
      PAIRS.map(([, passage]) => passage),
      { priority: 'bulk' },
    );
    const queries = await embed(
      PAIRS.map(([query]) => query),
      { kind: 'query' },
    );
    for (const [at, query] of queries.entries()) {
      const scores = passages.map((passage) => cosine(query, passage));
      expect([PAIRS[at]?.[0], scores.indexOf(Math.max(...scores))]).toEqual([PAIRS[at]?.[0], at]);
      const others = scores.filter((_, other) => other !== at);
      expect((scores[at] ?? 0) - Math.max(...others)).toBeGreaterThan(0.05);
    }
  });

  test('the order of the words makes no difference, a word without likeness makes a large one', async () => {
    const { embed } = await openEmbeddings();
    const [one, turned, synonym] = await embed(['the fast car', 'car the fast', 'quick automobile']);
    expect(cosine(one as Float32Array, turned as Float32Array)).toBeCloseTo(1, 5);
    // Said in docs/embeddings.md: it does not know what words mean.
    expect(cosine(one as Float32Array, synonym as Float32Array)).toBeLessThan(0.3);
  });

  test('every vector is of length 1, that of a text without words too', async () => {
    const { embed } = await openEmbeddings();
    for (const vector of await embed(['', '  !? ', 'a', 'x'.repeat(300_000), '\ud800 half a character']))
      expect(cosine(vector, vector)).toBeCloseTo(1, 5);
  });
});
