// ModelFolder: what a folder in the form of sentence-transformers says about its model. Only the small files are read here;
// the graph is the business of onnx-session.ts.
// N1 What is missing, damaged, or asks for something that is not done here is told in one sentence, which names the file inside
//    of the folder and never the folder: it is shown to the public. No vector is ever made by guesswork instead.
// N2 Files and numbers have bounds: a folder is somebody else's.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { embeddingFaults } from './protocol.ts';

export type Pooling = 'mean' | 'cls' | 'last_token';

export interface ModelFolder {
  readonly name: string;
  /** Path of the graph. */
  readonly graph: string;
  readonly tokenizer: object;
  readonly tokenizerConfig: object;
  readonly pooling: Pooling;
  /** The graph alone is not all of the model: a layer behind the pooling is only in its `sentence_embedding`. */
  readonly needsWholeGraph: boolean;
  readonly lowersCase: boolean;
  readonly tokensMax: number;
  readonly queryPrefix: string;
  readonly passagePrefix: string;
}

/** Tried in this order unless the settings name a file; then whatever single graph is there. Full precision first. */
export const GRAPH_FILES = [
  'onnx/model.onnx',
  'model.onnx',
  'onnx/model_fp16.onnx',
  'onnx/model_quantized.onnx',
  'onnx/model_int8.onnx',
  'onnx/model_uint8.onnx',
] as const;

/** The largest tokenizers have some 20 MB. */
const JSON_BYTES_MAX = 64 * 1024 * 1024;
/** A run of more would hold its thread for seconds; texts that are meant to be found are cut into pieces before. */
const TOKENS_MAX = 2_048;
/** Where no file says it: as most models of this kind. */
const TOKENS_DEFAULT = 512;

export function readModelFolder(directory: string, file: string | null): ModelFolder {
  if (!isFolder(directory)) throw unusable('the folder of the model is not there');
  const tokenizer = required(directory, 'tokenizer.json');
  const config = required(directory, 'config.json');
  const tokenizerConfig = optional(directory, 'tokenizer_config.json') ?? {};
  const transformer = optional(directory, 'sentence_bert_config.json') ?? {};
  const prompts = promptsIn(directory);
  const { poolingFile, hasLayerBehind } = modulesIn(directory);
  const pooling = optional(directory, poolingFile);
  return {
    name: basename(directory),
    graph: join(directory, graphIn(directory, file)),
    tokenizer,
    tokenizerConfig,
    pooling: pooling === null ? 'mean' : poolingOf(pooling, poolingFile),
    needsWholeGraph: hasLayerBehind,
    lowersCase: transformer['do_lower_case'] === true,
    tokensMax: tokensMaxOf(transformer, tokenizerConfig, config),
    queryPrefix: prompts.query,
    passagePrefix: prompts.passage,
  };
}

/** A short look, that does not hold up its thread. */
export async function assertFolder(directory: string): Promise<void> {
  await access(join(directory, 'tokenizer.json')).catch(() => {
    throw unusable('the folder of the model is not there');
  });
}

function graphIn(directory: string, file: string | null): string {
  if (file !== null) {
    if (isFile(join(directory, file))) return file;
    throw unusable(`${file} is not in the folder of the model`);
  }
  const known = GRAPH_FILES.find((name) => isFile(join(directory, name)));
  if (known !== undefined) return known;
  const others = ['onnx', '.'].flatMap((folder) => graphsIn(directory, folder));
  const [only] = others;
  if (only !== undefined && others.length === 1) return only;
  throw unusable(
    others.length === 0
      ? 'there is no onnx/model.onnx in the folder of the model'
      : `the folder of the model has several graphs, and embeddings.model_file says not which: ${others.join(', ')}`,
  );
}

function graphsIn(directory: string, folder: string): string[] {
  try {
    return readdirSync(join(directory, folder))
      .filter((name) => name.endsWith('.onnx'))
      .map((name) => (folder === '.' ? name : `${folder}/${name}`));
  } catch {
    return []; // No such folder.
  }
}

/** Which of the modules are there, by modules.json; a folder without it is a transformer and its pooling. */
function modulesIn(directory: string): { readonly poolingFile: string; readonly hasLayerBehind: boolean } {
  const listed = parsed(directory, 'modules.json');
  const modules = Array.isArray(listed) ? listed.filter(isObject) : [];
  const typeOf = (module: Json): string =>
    String(module['type'] ?? '')
      .split('.')
      .at(-1) ?? '';
  const pooling = modules.find((module) => typeOf(module) === 'Pooling');
  const known = new Set(['Transformer', 'Pooling', 'Normalize']);
  const path = typeof pooling?.['path'] === 'string' ? pooling['path'] : '1_Pooling';
  return {
    poolingFile: `${path}/config.json`,
    hasLayerBehind: modules.some((module) => !known.has(typeOf(module))),
  };
}

function poolingOf(config: Json, file: string): Pooling {
  const modes: Readonly<Record<string, Pooling>> = {
    cls: 'cls',
    mean: 'mean',
    lasttoken: 'last_token',
    pooling_mode_cls_token: 'cls',
    pooling_mode_mean_tokens: 'mean',
    // All vectors are brought to length 1, after which this is the mean.
    pooling_mode_mean_sqrt_len_tokens: 'mean',
    pooling_mode_lasttoken: 'last_token',
  };
  const named = typeof config['pooling_mode'] === 'string' ? [config['pooling_mode']] : [];
  const flagged = Object.keys(config).filter(
    (key) => key.startsWith('pooling_mode_') && config[key] === true,
  );
  const asked = [...named, ...flagged];
  if (config['include_prompt'] === false)
    throw unusable(`${file} leaves the prompt out of the pooling, which is not done here`);
  const mode = modes[asked[0] ?? 'mean'];
  if (mode !== undefined && asked.length <= 1) return mode;
  throw unusable(`${file} asks for a pooling that is not done here: ${asked.join(' and ')}`);
}

function promptsIn(directory: string): { readonly query: string; readonly passage: string } {
  const config = optional(directory, 'config_sentence_transformers.json') ?? {};
  const prompts = isObject(config['prompts']) ? config['prompts'] : {};
  const named = (...names: readonly unknown[]): string => {
    for (const name of names) {
      const prompt = typeof name === 'string' ? prompts[name] : undefined;
      if (typeof prompt === 'string') return prompt;
    }
    return '';
  };
  const fallback = config['default_prompt_name'];
  return {
    query: named('query', fallback),
    passage: named('passage', 'document', 'corpus', fallback),
  };
}

/** Tokenizers without a bound of their own say so with a number of thirty digits. */
function tokensMaxOf(transformer: Json, tokenizerConfig: Json, config: Json): number {
  const [own, ofTokenizer, positions] = [
    transformer['max_seq_length'],
    tokenizerConfig['model_max_length'],
    config['max_position_embeddings'],
  ].map((value) => (typeof value === 'number' && value >= 1 && value < 1e6 ? Math.floor(value) : null));
  const asked = own ?? ofTokenizer ?? TOKENS_DEFAULT;
  return Math.min(asked, positions ?? TOKENS_MAX, TOKENS_MAX);
}

type Json = Readonly<Record<string, unknown>>;

function required(directory: string, file: string): Json {
  const value = optional(directory, file);
  if (value === null) throw unusable(`${file} is missing in the folder of the model`);
  return value;
}

function optional(directory: string, file: string): Json | null {
  const value = parsed(directory, file);
  if (value === null || isObject(value)) return value;
  throw unusable(`${file} in the folder of the model is not what it should be`);
}

/** N2. Null when there is no such file. */
function parsed(directory: string, file: string): unknown {
  const path = join(directory, file);
  if (!isFile(path)) return null;
  if (statSync(path).size > JSON_BYTES_MAX) throw unusable(`${file} in the folder of the model is too large`);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch {
    throw unusable(`${file} in the folder of the model is damaged`);
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** N1. */
export function unusable(why: string): Error {
  return embeddingFaults.engine_unavailable(why);
}
