// BERT model: a folder in the form of sentence-transformers with a small model of random weights, written as ONNX. What the
// weights are is told too, so that a test can work its vectors out by itself, and a bench can have a model of a known shape.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type OnnxNode, type OnnxTensor, onnxModel } from '../../src/actors/embeddings/onnx-writer.ts';
import { seededRandom } from '../../src/std/ids.ts';

export interface BertShape {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Of the feed-forward part. */
  readonly inner: number;
  readonly positions: number;
  readonly words: readonly string[];
  readonly seed: number;
}

export const SMALL_BERT: BertShape = {
  width: 16,
  layers: 2,
  heads: 2,
  inner: 24,
  positions: 12,
  words: [
    'river',
    'bank',
    'money',
    'water',
    'flows',
    'query',
    'passage',
    ':',
    'the',
    'of',
    'run',
    '##s',
    '##ning',
  ],
  seed: 7,
};

/** The ids of the special tokens; the words follow. */
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];

export const vocabularyOf = ({ words }: BertShape): readonly string[] => [...SPECIAL, ...words];

/** By name: `word`, `position`, `type`, and for each layer `0.query.weight`, `0.query.bias` … A matrix is row by row, in × out. */
export type BertWeights = Readonly<Record<string, Float32Array>>;

export function bertWeights(shape: BertShape): BertWeights {
  const random = seededRandom(shape.seed);
  const { width, layers, inner, positions } = shape;
  const drawn = (count: number, scale: number, around = 0): Float32Array =>
    Float32Array.from({ length: count }, () => around + (random.float() * 2 - 1) * scale);
  const weights: Record<string, Float32Array> = {
    word: drawn(vocabularyOf(shape).length * width, 1),
    position: drawn(positions * width, 0.5),
    type: drawn(2 * width, 0.2),
  };
  const norm = (name: string): void => {
    weights[`${name}.weight`] = drawn(width, 0.2, 1);
    weights[`${name}.bias`] = drawn(width, 0.1);
  };
  const dense = (name: string, from: number, to: number): void => {
    weights[`${name}.weight`] = drawn(from * to, 2 / Math.sqrt(from));
    weights[`${name}.bias`] = drawn(to, 0.1);
  };
  norm('norm');
  for (let layer = 0; layer < layers; layer += 1) {
    for (const part of ['query', 'key', 'value', 'output']) dense(`${layer}.${part}`, width, width);
    norm(`${layer}.attended`);
    dense(`${layer}.inner`, width, inner);
    dense(`${layer}.outer`, inner, width);
    norm(`${layer}.norm`);
  }
  return weights;
}

/** `last_hidden_state` of `input_ids`, `attention_mask` and `token_type_ids`. */
export function bertGraph(shape: BertShape, weights = bertWeights(shape)): Uint8Array {
  const { width, layers, heads, inner, positions } = shape;
  const nodes: OnnxNode[] = [];
  const tensors: OnnxTensor[] = [];
  const tensor = (name: string, data: OnnxTensor['data'], sizes: readonly number[]): string => {
    tensors.push({ name, data, shape: sizes });
    return name;
  };
  const weight = (name: string, sizes: readonly number[]): string =>
    tensor(name, weights[name] ?? new Float32Array(0), sizes);
  const ints = (name: string, ...values: number[]): string =>
    tensor(name, BigInt64Array.from(values, BigInt), [values.length]);
  const int = (name: string, value: number): string => tensor(name, BigInt64Array.of(BigInt(value)), []);
  const constant = (name: string, value: number): string => tensor(name, Float32Array.of(value), []);
  let count = 0;
  const op = (
    operator: string,
    inputs: readonly string[],
    attributes: OnnxNode['attributes'] = {},
  ): string => {
    const output = `n${count}`;
    count += 1;
    nodes.push({ operator, inputs, outputs: [output], attributes });
    return output;
  };
  const [zero, one, half] = [int('zero', 0), int('one', 1), constant('half', 0.5)];
  const dense = (input: string, name: string, from: number, to: number): string =>
    op('Add', [op('MatMul', [input, weight(`${name}.weight`, [from, to])]), weight(`${name}.bias`, [to])]);
  const norm = (input: string, name: string): string =>
    op('LayerNormalization', [input, weight(`${name}.weight`, [width]), weight(`${name}.bias`, [width])], {
      axis: { int: -1 },
      epsilon: { float: 1e-12 },
    });

  const length = op('Gather', [op('Shape', ['input_ids']), one], { axis: { int: 0 } });
  const place = op('Gather', [weight('position', [positions, width]), op('Range', [zero, length, one])]);
  const word = op('Gather', [weight('word', [vocabularyOf(shape).length, width]), 'input_ids']);
  const type = op('Gather', [weight('type', [2, width]), 'token_type_ids']);
  let hidden = norm(op('Add', [op('Add', [word, place]), type]), 'norm');

  const mask = op('Cast', ['attention_mask'], { to: { int: 1 } });
  const absent = op('Sub', [constant('unit', 1), op('Unsqueeze', [mask, ints('middle', 1, 2)])]);
  const penalty = op('Mul', [absent, constant('never', -1e9)]);
  const perHead = ints('per head', 0, 0, heads, width / heads);
  const whole = ints('whole', 0, 0, width);
  const scale = constant('scale', 1 / Math.sqrt(width / heads));
  const [root, unit] = [constant('root', Math.SQRT1_2), 'unit'];
  const split = (input: string, ...order: number[]): string =>
    op('Transpose', [op('Reshape', [input, perHead])], { perm: { ints: order } });

  for (let layer = 0; layer < layers; layer += 1) {
    const query = split(dense(hidden, `${layer}.query`, width, width), 0, 2, 1, 3);
    const key = split(dense(hidden, `${layer}.key`, width, width), 0, 2, 3, 1);
    const value = split(dense(hidden, `${layer}.value`, width, width), 0, 2, 1, 3);
    const scores = op('Add', [op('Mul', [op('MatMul', [query, key]), scale]), penalty]);
    const seen = op('MatMul', [op('Softmax', [scores], { axis: { int: -1 } }), value]);
    const joined = op('Reshape', [op('Transpose', [seen], { perm: { ints: [0, 2, 1, 3] } }), whole]);
    const attended = norm(
      op('Add', [dense(joined, `${layer}.output`, width, width), hidden]),
      `${layer}.attended`,
    );
    const raised = dense(attended, `${layer}.inner`, width, inner);
    const erf = op('Add', [op('Erf', [op('Mul', [raised, root])]), unit]);
    const gelu = op('Mul', [op('Mul', [raised, erf]), half]);
    hidden = norm(op('Add', [dense(gelu, `${layer}.outer`, inner, width), attended]), `${layer}.norm`);
  }
  nodes.push({ operator: 'Identity', inputs: [hidden], outputs: ['last_hidden_state'] });
  const sizes = ['batch', 'length'];
  return onnxModel({
    name: 'bert',
    inputs: ['input_ids', 'attention_mask', 'token_type_ids'].map((name) => ({
      name,
      type: 'int64',
      shape: sizes,
    })),
    outputs: [{ name: 'last_hidden_state', type: 'float', shape: [...sizes, width] }],
    nodes,
    tensors,
  });
}

export interface BertFolderOptions {
  /** Of 1_Pooling/config.json; null leaves that file out. */
  readonly pooling?: Readonly<Record<string, unknown>> | null;
  /** Files beside these, or instead of them; null leaves one out. */
  readonly files?: Readonly<Record<string, string | Uint8Array | null>>;
}

/** Writes the folder, and answers its path. */
export async function writeBertFolder(
  directory: string,
  shape: BertShape,
  { pooling = { pooling_mode_mean_tokens: true }, files = {} }: BertFolderOptions = {},
): Promise<string> {
  const json = (value: unknown): string => JSON.stringify(value);
  const all: Record<string, string | Uint8Array | null> = {
    'config.json': json({
      model_type: 'bert',
      hidden_size: shape.width,
      max_position_embeddings: shape.positions,
    }),
    'tokenizer.json': json(tokenizerOf(shape)),
    'tokenizer_config.json': json({
      tokenizer_class: 'BertTokenizer',
      pad_token: '[PAD]',
      model_max_length: 512,
    }),
    'modules.json': json([
      { idx: 0, path: '', type: 'sentence_transformers.models.Transformer' },
      { idx: 1, path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
    ]),
    '1_Pooling/config.json':
      pooling === null ? null : json({ word_embedding_dimension: shape.width, ...pooling }),
    'onnx/model.onnx': bertGraph(shape),
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    if (content === null) continue;
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  return directory;
}

function tokenizerOf(shape: BertShape): object {
  const id = (token: string): number => vocabularyOf(shape).indexOf(token);
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content) => ({
      id: id(content),
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
      ],
      pair: [],
      special_tokens: {
        '[CLS]': { id: '[CLS]', ids: [id('[CLS]')], tokens: ['[CLS]'] },
        '[SEP]': { id: '[SEP]', ids: [id('[SEP]')], tokens: ['[SEP]'] },
      },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabularyOf(shape).map((token, index) => [token, index])),
    },
  };
}
