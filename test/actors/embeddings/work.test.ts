import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TEXTS_MAX } from '../../../src/actors/embeddings/protocol.ts';
import { isFault } from '../../../src/std/errors.ts';
import {
  type BertShape,
  bertGraph,
  bertWeights,
  SMALL_BERT,
  vocabularyOf,
  writeBertFolder,
} from '../../support/bert-model.ts';
import { frailEmbedder, POISON } from '../../support/frail-embedder.ts';
import { folderOfThisTest } from '../../support/storage.ts';
import { cosine, openEmbeddings, PATIENT_MS } from './embeddings-system.ts';

const numbered = (count: number, about: string) => Array.from({ length: count }, (_, n) => `${about} ${n}`);
const codeOf = (error: unknown) => (isFault(error) ? error.code : String(error));

/** Slow enough that a hundred texts take a while. */
const SLOW_BERT: BertShape = { ...SMALL_BERT, width: 256, layers: 4, heads: 4, inner: 1_024, positions: 128 };

async function openSlow() {
  const directory = await writeBertFolder(join(await folderOfThisTest(), 'slow'), SLOW_BERT);
  const opened = await openEmbeddings({ settings: { embeddings: { model_dir: directory, threads: 1 } } });
  const long = (n: number) => `${'river bank money water '.repeat(30)} ${'the '.repeat(n % 7)} ${n}`;
  return { ...opened, long };
}

describe('texts', () => {
  test('come back in their order, whatever their lengths, each alike however often and with whom', async () => {
    const { embed } = await openEmbeddings();
    const texts = Array.from({ length: 100 }, (_, n) => `word${n} `.repeat(1 + ((n * 37) % 50)));
    const [whole, single, twice] = await Promise.all([
      embed(texts, { priority: 'bulk' }),
      Promise.all(texts.map(async (text) => (await embed([text]))[0] as Float32Array)),
      embed([...texts, ...texts].reverse()),
    ]);
    for (const [at, vector] of whole.entries()) {
      expect(cosine(vector, single[at] as Float32Array)).toBeCloseTo(1, 5);
      expect(cosine(vector, twice[texts.length - 1 - at] as Float32Array)).toBeCloseTo(1, 5);
    }
  });

  test('of which a model makes no numbers are told so, and cost no other its vector', async () => {
    const weights = bertWeights(SMALL_BERT);
    const { width } = SMALL_BERT;
    const row = vocabularyOf(SMALL_BERT).indexOf('money') * width;
    weights['word']?.fill(Number.NaN, row, row + width);
    const files = { 'onnx/model.onnx': bertGraph(SMALL_BERT, weights) };
    const model_dir = await writeBertFolder(join(await folderOfThisTest(), 'overflowing'), SMALL_BERT, {
      files,
    });
    const { embed } = await openEmbeddings({ settings: { embeddings: { model_dir, threads: 1 } } });
    const asked = ['river', 'money', 'bank'].map((text) => embed([text], { priority: 'bulk' }));
    expect(await Promise.allSettled(asked)).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'text_unworkable' } },
      { status: 'fulfilled' },
    ]);
  });

  test('too many or too long ones are refused, and none at all are no work', async () => {
    const { embed, threads } = await openEmbeddings();
    expect(await embed([])).toEqual([]);
    await expect(embed(numbered(TEXTS_MAX + 1, 'text'))).rejects.toMatchObject({ code: 'embedding_refused' });
    await expect(embed(['x'.repeat(400_001)])).rejects.toMatchObject({ code: 'embedding_refused' });
    expect(await threads()).toBe(0);
  });

  test('beyond what may wait are told to come again; who leaves makes room', async () => {
    const opened = await openEmbeddings();
    const leaving = new AbortController();
    const { signal } = leaving;
    const asked = Array.from({ length: 5 }, (_, n) =>
      opened
        .embed(numbered(TEXTS_MAX, `upload ${n}`), { priority: 'bulk', signal })
        .then(() => 'made', codeOf),
    );
    expect(await asked[4]).toBe('embeddings_full');
    leaving.abort();
    expect(await Promise.all(asked)).toEqual([...Array(4).fill('ask_cancelled'), 'embeddings_full']);
    await expect.poll(() => opened.waiting()).toEqual({ interactive: 0, bulk: 0 });
    expect(await opened.embed(['a query'])).toHaveLength(1);
  });
});

describe('a query', () => {
  test(
    'goes before the bulk work that came before it, and the bulk work goes on',
    async () => {
      const { embed, long } = await openSlow();
      let bulkDone = false;
      const bulk = embed(
        Array.from({ length: 200 }, (_, n) => long(n)),
        { priority: 'bulk' },
      ).then((vectors) => {
        bulkDone = true;
        return vectors;
      });
      for (let n = 0; n < 5; n += 1) {
        const [vector] = await embed([`query ${n}`], { kind: 'query' });
        expect([bulkDone, vector?.length]).toEqual([false, 256]);
      }
      expect(await bulk).toHaveLength(200);
    },
    PATIENT_MS,
  );

  test(
    'that nobody waits for any more costs no further slice',
    async () => {
      const opened = await openSlow();
      const leaving = new AbortController();
      const texts = Array.from({ length: 2_000 }, (_, n) => opened.long(n));
      const asked = opened.embed(texts, { priority: 'bulk', signal: leaving.signal }).catch(codeOf);
      await opened.embed(['begun']);
      leaving.abort();
      expect(await asked).toBe('ask_cancelled');
      // Two thousand of them would take minutes.
      expect(await opened.embed([opened.long(5_000)], { priority: 'bulk' })).toHaveLength(1);
    },
    PATIENT_MS,
  );
});

describe('threads', () => {
  test(
    'are as many as there is work for, and rest when there is none',
    async () => {
      const opened = await openEmbeddings({ settings: { embeddings: { idle_seconds: 1, threads: 2 } } });
      await opened.embed(['one query']);
      expect(await opened.threads()).toBe(1);
      const bulk = opened.embed(numbered(2_000, 'bulk'), { priority: 'bulk' });
      await expect.poll(() => opened.threads(), { timeout: PATIENT_MS, interval: 5 }).toBe(2);
      await bulk;
      await expect.poll(() => opened.threads(), { timeout: PATIENT_MS }).toBe(0);
      await expect.poll(() => opened.system.threads().length, { timeout: PATIENT_MS }).toBe(0);
      // From memory, without a thread.
      await opened.embed(['one query']);
      expect(await opened.threads()).toBe(0);
      expect(await opened.embed(['another query'])).toHaveLength(1);
    },
    PATIENT_MS,
  );

  test('that have their model open are asked before another one is started, as long as they have room', async () => {
    const { embed, threads } = await openEmbeddings({ settings: { embeddings: { threads: 2 } } });
    await embed(['the first query opens it']);
    // As many as it has room for, should each go by itself.
    await Promise.all(numbered(4, 'query').map((query) => embed([query], { kind: 'query' })));
    expect(await threads()).toBe(1);
  });

  test(
    'one that dies takes nothing with it but a text that ends every thread',
    async () => {
      const { module, exportName } = frailEmbedder;
      const { embed } = await openEmbeddings({ embedder: { module, exportName } });
      const good = Array.from({ length: 8 }, (_, n) =>
        embed(numbered(20, `upload ${n}`), { priority: 'bulk' }),
      );
      const poisoned = embed([...numbered(3, 'beside it'), POISON], { priority: 'bulk' }).then(
        () => 'made',
        codeOf,
      );
      const queries = Promise.all(numbered(5, 'query').map((query) => embed([query])));
      expect(await poisoned).toBe('text_unworkable');
      expect((await Promise.all(good)).map((vectors) => vectors.length)).toEqual(Array(8).fill(20));
      expect(await queries).toHaveLength(5);
      expect(await embed(['afterwards'])).toHaveLength(1);
    },
    PATIENT_MS,
  );
});
