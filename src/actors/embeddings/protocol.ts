// Embeddings: texts as vectors, made by one engine at a time. `embeddings` (edge thread) takes the texts, keeps what was made
// lately and hands batches to its threads, where the models are; nothing is computed on the edge.
// B1 Vectors of one engine have one length and are of length 1; those of two engines say nothing about each other.
// B2 The engine is locked: its id is stored, and the vectors of the data folder belong to it. When the settings name another
//    one, that is `next` from then on: both can be asked, until whoever keeps the vectors has made them again and says so
//    (`switched`). Until then `current` stays what a search is asked with.
// B3 A text that is asked for interactively (a query) waits for no more than the slice that a thread has begun, however much
//    bulk work waits.
// B4 What waits is bounded: beyond it `embeddings_full` says to come again. Who asked and left is not worked for any further.
// B5 A thread that dies costs its texts one more try, each by itself; a text that ends its thread again is given up. So it is with
//    texts that a remote engine refuses together, or a model makes no numbers of.
// B6 A text longer than the model takes is cut, as the model's own tools do it.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream, tell } from '../../supervisor/protocol.ts';

export const embeddingFaults = declareFaults({
  /** There is no engine, or it cannot be used for now; the sentence says why. */
  engine_unavailable: 'unavailable',
  /** Neither the current engine nor the next one. */
  engine_unknown: 'conflict',
  /** B4. */
  embeddings_full: 'unavailable',
  /** What was asked for makes no sense, or is not done here. */
  embedding_refused: 'invalid',
  /** B5. */
  text_unworkable: 'unprocessable',
  /** A budget is used up, or has no room for what a remote engine may cost. */
  embedding_over_budget: 'unavailable',
  /** The provider of a remote engine failed, after what repeats help against. */
  embedding_failed: 'upstream',
});

/** One message; longer lists come in several. As many as OpenAI's API takes. */
export const TEXTS_MAX = 2_048;
/** No model reads that far; a text that is longer was not meant to be one. */
export const TEXT_LENGTH_MAX = 400_000;
/** A message of bulk work may wait behind others as long as this. */
export const BULK_DEADLINE_MS = 600_000;

export type TextKind = 'query' | 'passage';
export type Priority = 'interactive' | 'bulk';

export interface EmbedRequest {
  readonly texts: readonly string[];
  readonly kind: TextKind;
  readonly priority: Priority;
  /** The id of the current engine or of the next one; the current one when absent. */
  readonly engine?: string;
}

export interface Embedded {
  /** In the order of the texts. They are shared: who wants to change one copies it. */
  readonly vectors: readonly Float32Array[];
  readonly dimensions: number;
  /** The id of the engine that made them. */
  readonly engine: string;
  readonly model: string;
  /** What the texts came to, in the model's own tokens. */
  readonly tokens: number;
}

export interface Engine {
  /** Changes with whatever would make other vectors of the same text. */
  readonly id: string;
  /** `local`, or the provider of a remote engine. */
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
}

export interface EngineProgress {
  readonly done: number;
  readonly total: number;
}

export interface EngineStatus {
  /** Null until one has been locked (B2). */
  readonly current: Engine | null;
  readonly next: Engine | null;
  /** Whether the current one can be asked. */
  readonly state: 'ready' | 'unavailable';
  /** Why the current engine, or the one that the settings name, cannot be used. Fit for the public: no path is in it. */
  readonly error: string | null;
  /** Of the vectors that are made again for the next engine; null as long as nobody has said. */
  readonly progress: EngineProgress | null;
}

const orNull = <const T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** As OpenAI's API has it; members that are not named here change no answer, and are passed over. */
export const EmbeddingRequest = Type.Object({
  input: Type.Unsafe<string | readonly unknown[]>(
    Type.Union([Type.String(), Type.Array(Type.Unknown(), { maxItems: TEXTS_MAX })], {
      description: `A text, or up to ${TEXTS_MAX}. Lists of tokens are refused.`,
    }),
  ),
  model: orNull(
    Type.String({
      maxLength: 300,
      description: 'The model of the engine; what is there when it is empty or "default".',
    }),
  ),
  encoding_format: orNull(Type.Union([Type.Literal('float'), Type.Literal('base64')])),
  dimensions: orNull(Type.Integer({ minimum: 1, maximum: 100_000 })),
});
export type EmbeddingRequest = Static<typeof EmbeddingRequest>;

export const EmbeddingList = Type.Object({
  object: Type.String(),
  data: Type.Array(
    Type.Object({
      object: Type.String(),
      index: Type.Integer(),
      embedding: Type.Unsafe<Float32Array | string>(Type.Union([Type.Array(Type.Number()), Type.String()])),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});
export type EmbeddingList = Static<typeof EmbeddingList>;

export const embeddings = protocol('embeddings', {
  create: call({
    summary: 'Embeds texts as OpenAI does, with the engine of this installation.',
    request: EmbeddingRequest,
    reply: EmbeddingList,
    faults: embeddingFaults,
  }),

  // Between actors only.
  embed: call<EmbedRequest, Embedded>({ faults: embeddingFaults }),
  engine: call<Record<string, never>, EngineStatus>(),
  /** As it is, and then as it has become: what comes while a reader is busy comes as one item. Progress alone is no news. */
  engines: stream<Record<string, never>, EngineStatus>(),
  /** From whoever makes the vectors again for the next engine. */
  progressed: tell<EngineProgress & { readonly engine: string }>(),
  /** All vectors are of the next engine now: it is the current one when this is answered, after a loss of power too (B2). */
  switched: call<{ readonly engine: string }, EngineStatus>({ faults: embeddingFaults }),
});
