// Model list: what a provider says about its models, asked through its SDK and read with care: every provider adds members
// of its own to the list, and any of them may be missing.
// The SDKs are loaded with the first listing.

import { anthropicClient } from './anthropic-adapter.ts';
import type { Connection } from './protocol.ts';
import type { Transport } from './transport.ts';

/** The largest catalogue of today has some hundreds. */
export const MODELS_PER_PROVIDER_MAX = 2_000;
const ANTHROPIC_PAGE = 1_000;
const DESCRIPTION_CHARS_MAX = 500;

/** Null where the provider does not say. */
export interface ListedModel {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly supportsTools: boolean | null;
  readonly supportsJson: boolean | null;
  readonly inputModalities: readonly string[] | null;
  readonly outputModalities: readonly string[] | null;
  readonly costPer1kInput: number | null;
  readonly costPer1kOutput: number | null;
  readonly costPer1kCacheRead: number | null;
  readonly costPer1kCacheWrite: number | null;
}

/** @throws what the SDK throws; `faultOf` knows it. */
export async function listModels(
  connection: Connection,
  transport: Transport,
  signal: AbortSignal,
): Promise<readonly ListedModel[]> {
  const entries =
    connection.kind === 'anthropic'
      ? await listAnthropic(connection, transport, signal)
      : await listOpenai(connection, transport, signal);
  return entries.slice(0, MODELS_PER_PROVIDER_MAX).flatMap((entry) => {
    const model = readModel(entry);
    return model === null ? [] : [model];
  });
}

async function listAnthropic(
  connection: Connection,
  transport: Transport,
  signal: AbortSignal,
): Promise<unknown[]> {
  const client = await anthropicClient(connection, transport);
  const page = await client.models.list({ limit: ANTHROPIC_PAGE }, { signal });
  return page.data;
}

async function listOpenai(
  connection: Connection,
  transport: Transport,
  signal: AbortSignal,
): Promise<unknown[]> {
  const { OpenAI } = await import('openai');
  const client = new OpenAI({
    // The SDK insists on a key; a local server that wants none ignores it.
    apiKey: connection.apiKey ?? 'none',
    baseURL: connection.baseUrl,
    defaultHeaders: connection.headers,
    timeout: connection.timeoutMs,
    maxRetries: 0,
    logLevel: 'off',
    fetch: transport.fetch(connection),
  });
  const page = await client.models.list({ signal });
  return Array.isArray(page.data) ? page.data : [];
}

type Entry = Readonly<Record<string, unknown>>;

function readModel(value: unknown): ListedModel | null {
  const entry = entryOf(value);
  const id = textOf(entry.id);
  if (id === null) return null;
  const architecture = entryOf(entry.architecture);
  const pricing = entryOf(entry.pricing);
  const parameters = listOf(entry.supported_parameters);
  const tags = listOf(entry.tags);
  return {
    id,
    name: textOf(entry.name) ?? textOf(entry.display_name) ?? id,
    description: textOf(entry.description)?.slice(0, DESCRIPTION_CHARS_MAX) ?? null,
    contextWindow: firstCount(entry, [
      'context_length',
      'context_window',
      'max_input_tokens',
      'loaded_context_length',
      'max_context_length',
      'max_model_len',
    ]),
    maxOutputTokens:
      firstCount(entryOf(entry.top_provider), ['max_completion_tokens']) ??
      firstCount(entry, ['max_output_tokens', 'max_tokens']),
    supportsTools: parameters?.includes('tools') ?? tags?.includes('tool-use') ?? null,
    supportsJson: parameters?.includes('response_format') ?? structuredOutputs(entry),
    inputModalities: listOf(architecture.input_modalities) ?? modalitiesOf(entry, tags),
    outputModalities: listOf(architecture.output_modalities),
    costPer1kInput: pricePer1k(pricing.prompt ?? pricing.input),
    costPer1kOutput: pricePer1k(pricing.completion ?? pricing.output),
    costPer1kCacheRead: pricePer1k(pricing.input_cache_read),
    costPer1kCacheWrite: pricePer1k(pricing.input_cache_write),
  };
}

function modalitiesOf(entry: Entry, tags: readonly string[] | null): readonly string[] | null {
  const image = entryOf(entryOf(entry.capabilities).image_input).supported;
  if (typeof image === 'boolean') return image ? ['text', 'image'] : ['text'];
  return tags?.includes('vision') ? ['text', 'image'] : null;
}

function structuredOutputs(entry: Entry): boolean | null {
  const { supported } = entryOf(entryOf(entry.capabilities).structured_outputs);
  return typeof supported === 'boolean' ? supported : null;
}

function entryOf(value: unknown): Entry {
  return typeof value === 'object' && value !== null ? (value as Entry) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function listOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : null;
}

function firstCount(entry: Entry, names: readonly string[]): number | null {
  for (const name of names) {
    const value = entry[name];
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
  }
  return null;
}

/** Lists give dollars per token, as text. A negative price stands for "it depends". */
function pricePer1k(value: unknown): number | null {
  const perToken = typeof value === 'number' ? value : Number.parseFloat(textOf(value) ?? '');
  return Number.isFinite(perToken) && perToken >= 0 ? Number((perToken * 1000).toPrecision(12)) : null;
}
