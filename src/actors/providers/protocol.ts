// Providers: which language models there are, and one streamed completion from one of them.
// `providers` (edge thread) owns registry, resolution and health; `completions` (one on each run host) does the calls, so
// that no model stream ever passes through the edge thread.

import type { EgressPolicy } from '../../egress/guard.ts';
import { declareFaults, type Fault, isFault } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { call, protocol, stream, tell } from '../../supervisor/protocol.ts';

export const providerFaults = declareFaults({
  /** No provider or no model answers to the reference. */
  model_not_found: 'not_found',
  /** 429; `retryAfterMs` is set when the provider said how long. */
  provider_rate_limited: 'rate_limited',
  /** Connection refused, reset or timed out, and 5xx: retryable before the first token. */
  provider_unreachable: 'upstream',
  /** Nothing came for the provider's timeout: before the first token retryable. */
  provider_stalled: 'upstream',
  /** The provider refused the request (4xx but 429): not retryable. */
  provider_rejected: 'upstream',
  /** It refused whoever asks, whatever the request: the key, its rights, or an account without credit. */
  provider_denied: 'upstream',
  endpoint_invalid: 'invalid',
  endpoint_not_found: 'not_found',
  /** The egress guard refused the provider's address. */
  provider_address_refused: 'forbidden',
  /** The reply made no sense. */
  provider_malformed: 'upstream',
  /** What was to be sent is not there any more. */
  media_missing: 'not_found',
});

/** Where the aggregator is, unless the settings say otherwise. */
export const OPENROUTER_BASE_URL = 'https://openrouter.ai/api/v1';

/** Of one answer, whoever asks: who has failed on so many providers has another problem. */
export const FALLBACKS_MAX = 3;

const PASSING_FAULTS: ReadonlySet<string> = new Set([
  'provider_rate_limited',
  'provider_unreachable',
  'provider_stalled',
  'provider_malformed',
]);

/** The provider answers, and will not do this: it says nothing about its health. */
export function isRefusal({ code }: Fault): boolean {
  return code === 'provider_rejected' || code === 'provider_denied';
}

/** Another provider may do better. What a provider refused, the next one would refuse too. */
export function isPassing(error: unknown): error is Fault {
  return isFault(error) && PASSING_FAULTS.has(error.code);
}

export type ProviderKind =
  | 'openai_compatible'
  | 'anthropic'
  | 'openrouter'
  | 'vercel'
  | 'lmstudio'
  | 'offline';

/** How to reach a provider. Holds its key: never logged, never sent to a client. */
export interface Connection {
  readonly provider: string;
  readonly kind: ProviderKind;
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Longest silence on a stream, and longest wait for its first byte. */
  readonly timeoutMs: number;
  /** Further attempts after a retryable failure before the first token. */
  readonly retriesMax: number;
  /** Where it may connect to: an address that the operator has set goes anywhere, a registered one obeys the guard. */
  readonly egress: EgressPolicy;
}

/** List price in US dollars; null where it is that of the input. */
export interface Price {
  readonly inputPer1k: number;
  readonly outputPer1k: number;
  readonly cacheReadPer1k: number | null;
  readonly cacheWritePer1k: number | null;
}

export interface Cost {
  readonly usd: number;
  /** Billed by the provider, or worked out from the list price. */
  readonly source: 'provider' | 'estimate';
}

/** A model reference, resolved for one turn. */
export interface ModelRoute {
  /** `provider:model`. */
  readonly reference: string;
  /** The provider-local id, as it goes over the wire. */
  readonly modelId: string;
  readonly displayName: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number | null;
  readonly supportsTools: boolean;
  readonly supportsVision: boolean;
  /** The types of recordings that it hears as they are; none for most models. */
  readonly audioTypes: readonly string[];
  /** Null when nobody says what it costs. */
  readonly price: Price | null;
  readonly connection: Connection;
  /** A sentence for the user when another model than the requested one runs. */
  readonly substitution: string | null;
}

/** Choosing a model may wait for the lists of slow providers. */
export const RESOLVE_DEADLINE_MS = 30_000;

export interface ModelQuestion {
  /** A reference, or the default model when null. */
  readonly model: string | null;
  /** The caller's own second choice. */
  readonly fallback?: string | null;
  readonly failedProviders?: readonly string[];
  /** What a model sees and hears matters: its provider's list is worth a wait. */
  readonly hasMedia?: boolean;
}

/** What a model thought before it called tools: it goes back to its provider as it came, and means nothing to others. */
export type SignedThought =
  | { readonly kind: 'signed'; readonly text: string; readonly signature: string }
  | { readonly kind: 'redacted'; readonly data: string };

export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** Parsed; `{}` when the model sent none; null when what it sent is no JSON object, or too deep. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** The text as the model sent it. */
  readonly argumentsText: string;
  /** On the first call of an answer. */
  readonly thoughts?: readonly SignedThought[];
}

/** An image or a recording, by its place in a workspace. Messages name media and never hold them. */
export interface MediaRef {
  readonly kind: 'image' | 'audio';
  readonly workspace_id: string;
  readonly document_id: string;
}

/** Where the bytes are: the thread that makes the request reads them while it sends. */
export interface MediaSource {
  readonly mediaType: string;
  readonly sha256: string;
}

/** What becomes of the media that messages name, by document: they are sent, or a text stands in their place. */
export type MediaSources = Readonly<Record<string, MediaSource | string>>;

export type ModelMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string; readonly media?: readonly MediaRef[] }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ModelToolCall[] }
  | { readonly role: 'tool'; readonly content: string; readonly toolCallId: string; readonly name: string };

/** What is absent, or is what every API takes for granted, is left to the provider. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
}

/** As chat-completions APIs have it. */
export type ResponseFormat =
  | { readonly type: 'text' | 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly schema: Readonly<Record<string, unknown>>;
        readonly strict?: boolean;
      };
    };

/** Whether the model must call a tool, and which. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

export interface CompletionRequest extends Sampling {
  readonly connection: Connection;
  readonly modelId: string;
  readonly messages: readonly ModelMessage[];
  /** Of the media that the messages name. */
  readonly media?: MediaSources;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
    /** Arguments must follow the schema to the letter, where the provider can see to that. */
    readonly strict?: boolean;
  }[];
  readonly maxOutputTokens: number | null;
  readonly responseFormat?: ResponseFormat;
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  /** The answer ends before any of these. */
  readonly stop?: readonly string[];
  readonly seed?: number;
  /** What the usage is priced by where the provider does not say what it billed. */
  readonly price?: Price | null;
}

export interface CompletionUsage {
  /** All of the input, the next two included. */
  readonly inputTokens: number;
  /** Read from the provider's cache of earlier prompts. */
  readonly cacheReadTokens: number;
  /** Written to it. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Null when nobody can say. */
  readonly cost: Cost | null;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'error';

/** Deltas in order; `finish` is the last. Reasoning comes inside `text` between <think> and </think>. */
export type CompletionDelta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool_calls'; readonly calls: readonly ModelToolCall[] }
  | {
      readonly kind: 'finish';
      readonly reason: FinishReason;
      /** Null when the provider did not report it. */
      readonly usage: CompletionUsage | null;
    };

export const ModelSummary = Type.Object({
  id: Type.String(),
  name: Type.String(),
  provider: Type.String(),
  context_length: Type.Integer(),
  context_window: Type.Integer(),
  max_output_tokens: Type.Union([Type.Integer(), Type.Null()]),
  supports_tools: Type.Boolean(),
  supports_vision: Type.Boolean(),
  supports_image: Type.Boolean(),
  supports_streaming: Type.Boolean(),
  supports_json_mode: Type.Boolean(),
  supports_speech: Type.Boolean(),
  supports_transcription: Type.Boolean(),
  cost_per_1k_input: Type.Union([Type.Number(), Type.Null()]),
  cost_per_1k_output: Type.Union([Type.Number(), Type.Null()]),
  pricing_currency: Type.String(),
  input_modalities: Type.Array(Type.String()),
  output_modalities: Type.Array(Type.String()),
  description: Type.Union([Type.String(), Type.Null()]),
});

const TextOrNull = Type.Union([Type.String(), Type.Null()]);
const NumberOrNull = Type.Union([Type.Number(), Type.Null()]);

/** A provider as clients see it: whether there is a key, never the key. */
export const CatalogEntry = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  label: Type.String(),
  base_url: Type.String(),
  key_fingerprint: TextOrNull,
  header_names: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  builtin: Type.Boolean(),
  credential: Type.String(),
  configured: Type.Boolean(),
});

const ENDPOINT_FIELDS = {
  label: Type.Optional(TextOrNull),
  base_url: Type.Optional(TextOrNull),
  api_key: Type.Optional(TextOrNull),
  headers: Type.Optional(
    Type.Union([
      Type.Record(
        Type.String(),
        Type.Union([Type.String(), Type.Null({ description: 'Keeps what is stored under this name.' })]),
        { description: 'Replaces the stored headers.' },
      ),
      Type.Null(),
    ]),
  ),
};

/** What is absent or null keeps what is stored; an empty text clears it where it may be empty. */
export const EndpointDraft = Type.Object({
  id: Type.String(),
  kind: Type.Optional(TextOrNull),
  ...ENDPOINT_FIELDS,
  enabled: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
});

/** One model that a turn might run on. What is not known of it is null. */
export const RouteEntry = Type.Object({
  model: Type.String(),
  model_id: Type.String(),
  provider: Type.String(),
  provider_label: Type.String(),
  configured: Type.Boolean(),
  healthy: Type.Boolean(),
  known: Type.Boolean(),
  context_window: NumberOrNull,
  max_output_tokens: NumberOrNull,
  cost_per_1k_input: NumberOrNull,
  cost_per_1k_output: NumberOrNull,
});

export const providers = protocol('providers', {
  list: call({
    summary: 'The providers, which of them are configured, and a few of their models.',
    request: Type.Object({}),
    reply: Type.Object({
      providers: Type.Array(
        Type.Object({
          name: Type.String(),
          status: Type.String(),
          models: Type.Optional(Type.Array(Type.String())),
          error: Type.Optional(Type.String()),
        }),
      ),
    }),
  }),
  models: call({
    summary: 'The models of the configured providers, with their capabilities.',
    request: Type.Object({ provider: Type.Optional(Type.String()) }),
    reply: Type.Object({ models: Type.Array(ModelSummary), count: Type.Integer() }),
  }),
  health: call({
    summary: 'Asks every configured provider for its models and says who answered.',
    request: Type.Object({}),
    reply: Type.Object({
      status: Type.String(),
      providers: Type.Record(
        Type.String(),
        Type.Object({
          status: Type.String(),
          error: Type.Optional(Type.String()),
          models_available: Type.Optional(Type.Integer()),
        }),
      ),
    }),
  }),
  catalog: call({
    summary: 'Every provider, built in or registered, with how it is reached; secrets masked.',
    request: Type.Object({}),
    reply: Type.Object({
      providers: Type.Array(CatalogEntry),
      count: Type.Integer(),
      configured: Type.Integer(),
    }),
  }),
  register: call({
    summary: 'Registers an endpoint that speaks the chat-completions protocol, or changes one.',
    request: EndpointDraft,
    reply: Type.Object({ provider: CatalogEntry }),
    faults: providerFaults,
  }),
  unregister: call({
    summary: 'Forgets a registered endpoint; what still refers to it falls back to another model.',
    request: Type.Object({ id: Type.String() }),
    reply: Type.Object({
      status: Type.String(),
      id: Type.String(),
      referencing_profiles: Type.Array(Type.String()),
    }),
    faults: providerFaults,
  }),
  test: call({
    summary: 'Asks an endpoint that is not saved yet for its models.',
    request: Type.Object({
      id: Type.Optional(
        Type.Union([Type.String({ description: 'Takes the stored key of this one.' }), Type.Null()]),
      ),
      ...ENDPOINT_FIELDS,
    }),
    reply: Type.Object({
      reachable: Type.Boolean(),
      base_url: Type.String(),
      elapsed_ms: Type.Number(),
      models_available: Type.Integer(),
      models: Type.Array(Type.String()),
      error: TextOrNull,
    }),
    faults: providerFaults,
  }),
  route: call({
    summary: 'Which model a turn would run on, and which after that, without asking one.',
    request: Type.Object({
      model: Type.Optional(Type.String()),
      fallback: Type.Optional(Type.String()),
    }),
    reply: Type.Object({
      requested: TextOrNull,
      resolved: RouteEntry,
      substituted: Type.Boolean(),
      candidates: Type.Array(RouteEntry),
      fallback_enabled: Type.Boolean(),
    }),
    faults: providerFaults,
  }),

  // Between actors only.
  /** The model for one turn: of the chain the first whose provider is not among those that failed this turn. */
  resolve: call<ModelQuestion, ModelRoute>({ faults: providerFaults }),
  /**
   * How a provider is reached, and what a model that is named costs there; for what is no completion.
   * @throws model_not_found when the provider is not configured
   */
  connection: call<
    { readonly provider: string; readonly model?: string },
    Connection & { readonly price: Price | null }
  >({ faults: providerFaults }),
  /** What a call met, for the health that resolution uses. */
  met: tell<{
    readonly provider: string;
    /** Where it was asked: says nothing about another address. */
    readonly baseUrl: string;
    readonly healthy: boolean;
    readonly error?: string;
    readonly retryAfterMs?: number | undefined;
  }>(),
});

export interface TranscriptionRequest {
  readonly connection: Connection;
  readonly modelId: string;
  readonly audio: MediaSource;
}

export interface Transcription {
  readonly text: string;
  /** As billed; null when the provider does not say. */
  readonly costUsd: number | null;
}

export const completions = protocol('completions', {
  /** One model call. Items are batches of deltas, at most one batch a turn of the event loop. Stopping the stream aborts the call. */
  complete: stream<CompletionRequest, readonly CompletionDelta[]>({ faults: providerFaults }),
  /** What is said in a recording. */
  transcribe: call<TranscriptionRequest, Transcription>({ faults: providerFaults }),
});
