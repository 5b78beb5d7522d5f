// FolderEngine: a model of sentence-transformers' form, open on this thread: tokens in, a graph, pooling, unit vectors out.
// J1 A text's vector does not depend on the texts that it is run with: what is padded is masked, and left out of the pooling.
//    (Graphs that are quantised at run time scale by batch, and differ in the last digits.)
// J2 The digest covers all that the vectors follow from: graph, tokenizer, pooling, prefixes, lengths.

import { existsSync } from 'node:fs';
import { errorText, isFault } from '../../std/errors.ts';
import { sha256Hex, sha256HexOfFile } from '../../std/hashes.ts';
import type { EngineFacts } from './embedder-protocol.ts';
import type { EngineSource } from './engine-source.ts';
import type { Model } from './model.ts';
import { type ModelFolder, readModelFolder, unusable } from './model-folder.ts';
import { type Feed, type OnnxSession, openOnnxSession } from './onnx-session.ts';
import { pooled, unitVectors } from './vectors.ts';

type FolderSource = EngineSource & { readonly kind: 'folder' };

interface Raw {
  readonly vectors: Float32Array;
  readonly width: number;
  readonly tokens: readonly number[];
}

/** Of a graph that has pooled already, and of the ones that leave it to us, the names that are in use. */
const WHOLE_OUTPUT = 'sentence_embedding';
const TOKEN_OUTPUTS = ['token_embeddings', 'last_hidden_state'];

export async function openFolderEngine(source: FolderSource, threads: number): Promise<Model> {
  const folder = readModelFolder(source.directory, source.file);
  const prefixes = {
    query: source.queryPrefix ?? folder.queryPrefix,
    passage: source.passagePrefix ?? folder.passagePrefix,
  };
  // With the first folder, on the thread that runs it: the edge knows this module by name only.
  const { CHARACTERS_PER_TOKEN, textTokens } = await import('./text-tokens.ts');
  const tokens = textTokens(folder.tokenizer, folder.tokenizerConfig, folder.tokensMax);
  const session = await openOnnxSession(folder.graph, threads);

  const raw = async (texts: readonly string[]): Promise<Raw> => {
    const ids = texts.map((text) => tokens.ids(folder.lowersCase ? text.toLowerCase() : text));
    const lengths = ids.map((list) => list.length);
    const length = Math.max(...lengths);
    const output = outputOf(session, folder);
    const { data, shape } = await session.run(feedsOf(session, ids, length, tokens.paddingId), output);
    const width = shape.at(-1) ?? 0;
    if (shape.length === 2) return { vectors: data, width, tokens: lengths };
    return {
      vectors: pooled({ hidden: data, length, width, lengths }, folder.pooling),
      width,
      tokens: lengths,
    };
  };

  try {
    const { width, vectors } = await raw(['a']).catch((error: unknown) => {
      if (isFault(error)) throw error;
      throw unusable(
        `the graph of the model does not run: ${errorText(error).split('\n')[0]?.slice(0, 200)}`,
      );
    });
    // It would be switched to: all texts that there are would be told to be at fault, and the vectors of before be gone.
    if (!vectors.every(Number.isFinite)) throw unusable('the graph of the model gives no numbers');
    if (source.dimensions > width)
      throw unusable(
        `the model has ${width} dimensions, and embeddings.dimensions wants ${source.dimensions}`,
      );
    const dimensions = source.dimensions || width;
    return {
      facts: await factsOf(folder, prefixes, dimensions),
      isComputedHere: true,
      charactersRead: folder.tokensMax * CHARACTERS_PER_TOKEN,
      async run(texts, kind) {
        const batch = await raw(texts.map((text) => prefixes[kind] + text));
        return { vectors: unitVectors(batch.vectors, batch.width, dimensions), tokens: batch.tokens };
      },
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** A whole graph goes first: it may have more behind its pooling than we know of. */
function outputOf({ outputs }: OnnxSession, { needsWholeGraph }: ModelFolder): string {
  if (outputs.includes(WHOLE_OUTPUT)) return WHOLE_OUTPUT;
  if (needsWholeGraph)
    throw unusable(`the model has a layer behind its pooling, and its graph gives no ${WHOLE_OUTPUT}`);
  const output = TOKEN_OUTPUTS.find((name) => outputs.includes(name)) ?? outputs[0];
  if (output === undefined) throw unusable('the graph of the model gives nothing');
  return output;
}

/** J1. Padded on the right: positions count from the first token. */
function feedsOf(
  { inputs }: OnnxSession,
  ids: readonly (readonly number[])[],
  length: number,
  paddingId: number,
): Record<string, Feed> {
  const filled = (numberAt: (list: readonly number[], at: number) => number): Feed => {
    const data = new BigInt64Array(ids.length * length);
    ids.forEach((list, text) => {
      for (let at = 0; at < length; at += 1) data[text * length + at] = BigInt(numberAt(list, at));
    });
    return { data, shape: [ids.length, length] };
  };
  const feeds: Record<string, Feed> = {};
  for (const name of inputs) {
    if (name === 'input_ids') feeds[name] = filled((list, at) => list[at] ?? paddingId);
    else if (name === 'attention_mask') feeds[name] = filled((list, at) => (at < list.length ? 1 : 0));
    else if (name === 'token_type_ids') feeds[name] = filled(() => 0);
    else if (name === 'position_ids') feeds[name] = filled((_, at) => at);
    else throw unusable(`the graph of the model wants an input that is not known here: ${name}`);
  }
  return feeds;
}

/** J2. */
async function factsOf(
  folder: ModelFolder,
  prefixes: { readonly query: string; readonly passage: string },
  dimensions: number,
): Promise<EngineFacts> {
  const { name, graph, tokenizer, tokenizerConfig, pooling, lowersCase, tokensMax } = folder;
  // Large graphs keep their weights beside them.
  const weights = [graph, `${graph}_data`, `${graph}.data`].filter((file) => existsSync(file));
  const hashes = await Promise.all(weights.map(sha256HexOfFile));
  const parts = { hashes, tokenizer, tokenizerConfig, pooling, lowersCase, tokensMax, prefixes, dimensions };
  return { model: name, dimensions, digest: sha256Hex(JSON.stringify(parts)) };
}
