// Model list: what a provider says about its models, read with care: every provider adds members of its own to the list, and
// any of them may be missing.

import { anthropicClient } from './anthropic-adapter.ts';
import { openaiHeaders } from './openai-messages.ts';
import type { Connection } from './protocol.ts';
import { HttpFailure, MalformedAnswer } from './provider-failure.ts';
import { ERROR_BODY_BYTES_MAX, type Transport } from './transport.ts';

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

/** @throws what `faultOf` knows. */
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

/** By hand: the SDK would be loaded for this one request, and would send along what it finds in the environment. */
async function listOpenai(
  connection: Connection,
  transport: Transport,
  signal: AbortSignal,
): Promise<unknown[]> {
  const response = await transport.fetch(connection)(`${connection.baseUrl.replace(/\/+$/, '')}/models`, {
    headers: { accept: 'application/json', ...openaiHeaders(connection) },
    signal,
  });
  if (response.status !== 200) {
    const failure = new HttpFailure(response.status, Object.fromEntries(response.headers));
    failure.append(new Uint8Array(await response.arrayBuffer()), ERROR_BODY_BYTES_MAX);
    throw failure;
  }
  const listed = parsed(await response.text());
  // Some servers send the bare list.
  const entries = Array.isArray(listed) ? listed : entryOf(listed).data;
  return Array.isArray(entries) ? entries : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedAnswer('its list of models is no JSON');
  }
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
