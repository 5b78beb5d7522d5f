import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFolderEngine } from '../../../src/actors/embeddings/folder-engine.ts';
import type { Model } from '../../../src/actors/embeddings/model.ts';
import {
  type BertFolderOptions,
  bertGraph,
  bertWeights,
  SMALL_BERT,
  writeBertFolder,
} from '../../support/bert-model.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { bertForward, mean, unit } from './bert-forward.ts';

const SOURCE = {
  kind: 'folder',
  file: null,
  dimensions: 0,
  queryPrefix: null,
  passagePrefix: null,
} as const;
const TEXTS = ['River bank', 'the money of the bank', 'water', 'water runs running the river'];
/** Of the same texts, by hand. */
const TOKENS = [
  ['river', 'bank'],
  ['the', 'money', 'of', 'the', 'bank'],
  ['water'],
  ['water', 'run', '##s', 'run', '##ning', 'the', 'river'],
].map((tokens) => ['[CLS]', ...tokens, '[SEP]']);
const { signal } = new AbortController();

interface Opening extends BertFolderOptions {
  readonly source?: Partial<typeof SOURCE | { file: string; dimensions: number; queryPrefix: string }>;
}

async function openModel({ source, ...options }: Opening = {}): Promise<Model> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const directory = await writeBertFolder(join(folder.directory, 'small-bert'), SMALL_BERT, options);
  const model = await openFolderEngine({ ...SOURCE, directory, ...source }, 1);
  onTestFinished(() => model.close());
  return model;
}

async function vectorsOf(model: Model, texts: readonly string[], kind: 'query' | 'passage' = 'passage') {
  const { vectors } = await model.run(texts, kind, signal);
  const { dimensions } = model.facts;
  return texts.map((_, at) => Array.from(vectors.subarray(at * dimensions, (at + 1) * dimensions)));
}

function expectClose(one: readonly number[], other: readonly number[]): void {
  expect(one).toHaveLength(other.length);
  for (const [at, value] of one.entries()) expect(value).toBeCloseTo(other[at] ?? Number.NaN, 5);
}

describe('the vectors are those that the weights give, worked out by hand', () => {
  const POOLINGS = [
    ['the mean of the tokens', { pooling_mode_mean_tokens: true }, mean],
    [
      'the first token',
      { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false },
      (states) => states[0],
    ],
    ['the last token', { pooling_mode: 'lasttoken' }, (states) => states.at(-1)],
    ['the mean, where nothing is said', null, mean],
  ] as const satisfies readonly (readonly [
    string,
    BertFolderOptions['pooling'],
    (states: readonly (readonly number[])[]) => unknown,
  ])[];

  test.each(POOLINGS)('pooled by %s', async (_, pooling, pool) => {
    const model = await openModel({ pooling });
    expect(model.facts).toMatchObject({ model: 'small-bert', dimensions: SMALL_BERT.width });
    const batched = await vectorsOf(model, TEXTS);
    for (const [at, tokens] of TOKENS.entries()) {
      const expected = unit(pool(bertForward(SMALL_BERT, tokens)) as readonly number[]);
      // Padded to the longest of the batch, and by itself.
      expectClose(batched[at] ?? [], expected);
      expectClose((await vectorsOf(model, [TEXTS[at] ?? '']))[0] ?? [], expected);
    }
  });

  test('cut to the length that the model takes, with the special tokens at both ends', async () => {
    const model = await openModel({ files: { 'sentence_bert_config.json': '{"max_seq_length": 6}' } });
    const { vectors, tokens } = await model.run(['the money of the bank of the river'], 'passage', signal);
    expect(tokens).toEqual([6]);
    const cut = ['[CLS]', 'the', 'money', 'of', 'the', '[SEP]'];
    expectClose(Array.from(vectors), unit(mean(bertForward(SMALL_BERT, cut))));
  });

  test('with the first dimensions only, brought to length 1 again', async () => {
    const model = await openModel({ source: { dimensions: 4 } });
    const states = bertForward(SMALL_BERT, TOKENS[0] ?? []);
    expectClose((await vectorsOf(model, TEXTS))[0] ?? [], unit(mean(states).slice(0, 4)));
  });

  test('with what the folder, or the settings, put before questions and passages', async () => {
    const prompts = JSON.stringify({ prompts: { query: 'query: ', document: 'passage: ' } });
    const model = await openModel({ files: { 'config_sentence_transformers.json': prompts } });
    const prompted = (word: string) =>
      unit(mean(bertForward(SMALL_BERT, ['[CLS]', word, ':', 'river', '[SEP]'])));
    expectClose((await vectorsOf(model, ['river'], 'query'))[0] ?? [], prompted('query'));
    expectClose((await vectorsOf(model, ['river'], 'passage'))[0] ?? [], prompted('passage'));
    const other = await openModel({
      files: { 'config_sentence_transformers.json': prompts },
      source: { queryPrefix: 'passage: ' },
    });
    expectClose((await vectorsOf(other, ['river'], 'query'))[0] ?? [], prompted('passage'));
    expect(other.facts.digest).not.toBe(model.facts.digest);
  });
});

describe('the graph', () => {
  test('is the one that the settings name, else the first of the known ones, else the only one', async () => {
    const graph = bertGraph(SMALL_BERT);
    const none = { 'onnx/model.onnx': null };
    const small = await openModel({ files: { 'onnx/model_quantized.onnx': graph, ...none } });
    const named = await openModel({ files: { 'onnx/odd.onnx': graph }, source: { file: 'onnx/odd.onnx' } });
    const only = await openModel({ files: { 'onnx/odd.onnx': graph, ...none } });
    expect([small, named, only].map(({ facts }) => facts.digest)).toEqual(Array(3).fill(small.facts.digest));
    await expect(
      openModel({ files: { 'onnx/odd.onnx': graph, 'even.onnx': graph, ...none } }),
    ).rejects.toThrow('says not which: onnx/odd.onnx, even.onnx');
  });

  test('and all else that the vectors follow from is in the digest', async () => {
    const { facts } = await openModel();
    const changed = [
      await openModel({ pooling: { pooling_mode_cls_token: true } }),
      await openModel({ files: { 'onnx/model.onnx': bertGraph({ ...SMALL_BERT, seed: 8 }) } }),
      await openModel({ files: { 'sentence_bert_config.json': '{"max_seq_length": 6}' } }),
      await openModel({ source: { dimensions: 4 } }),
    ].map((model) => model.facts.digest);
    expect((await openModel()).facts.digest).toBe(facts.digest);
    expect(new Set([facts.digest, ...changed]).size).toBe(5);
  });
});

describe('a folder that cannot be used says why, and never where it is', () => {
  const OVERFLOWING = {
    ...bertWeights(SMALL_BERT),
    type: new Float32Array(2 * SMALL_BERT.width).fill(Number.NaN),
  };
  const DENSE = JSON.stringify([{ type: 'sentence_transformers.models.Dense', path: '2_Dense' }]);
  test.each([
    ['no tokenizer', { 'tokenizer.json': null }, 'tokenizer.json is missing'],
    ['no config', { 'config.json': null }, 'config.json is missing'],
    ['no graph', { 'onnx/model.onnx': null }, 'there is no onnx/model.onnx'],
    [
      'half a tokenizer',
      { 'tokenizer.json': '{"model": ' },
      'tokenizer.json in the folder of the model is damaged',
    ],
    [
      'a list for a config',
      { 'config.json': '[]' },
      'config.json in the folder of the model is not what it should be',
    ],
    ['an empty tokenizer', { 'tokenizer.json': '{}' }, 'the tokenizer of the model cannot be used'],
    ['a damaged graph', { 'onnx/model.onnx': 'no graph' }, 'the graph of the model is damaged'],
    [
      'half a graph',
      { 'onnx/model.onnx': bertGraph(SMALL_BERT).subarray(0, 4_000) },
      'the graph of the model is damaged',
    ],
    [
      'a graph that overflows',
      { 'onnx/model.onnx': bertGraph(SMALL_BERT, OVERFLOWING) },
      'the graph of the model gives no numbers',
    ],
    [
      'another pooling',
      { '1_Pooling/config.json': '{"pooling_mode_max_tokens": true}' },
      'asks for a pooling that is not done here: pooling_mode_max_tokens',
    ],
    ['a layer behind the pooling', { 'modules.json': DENSE }, 'has a layer behind its pooling'],
  ])('%s', async (_, files, why) => {
    const failure = await openModel({ files }).catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ code: 'engine_unavailable', message: expect.stringContaining(why) });
    expect((failure as Error).message).not.toContain('small-bert');
  });

  test('more dimensions than there are', async () => {
    await expect(openModel({ source: { dimensions: 17 } })).rejects.toThrow('the model has 16 dimensions');
  });
});
