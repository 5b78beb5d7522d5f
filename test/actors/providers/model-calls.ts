// The door to adapter tests: a provider double, a transport, and calls through the adapter of either API.

import type { Adapter } from '../../../src/actors/providers/adapter.ts';
import { createAnthropicAdapter } from '../../../src/actors/providers/anthropic-adapter.ts';
import { completeWithOpenai } from '../../../src/actors/providers/openai-adapter.ts';
import type {
  CompletionDelta,
  CompletionRequest,
  CompletionUsage,
  Connection,
  FinishReason,
  ModelToolCall,
} from '../../../src/actors/providers/protocol.ts';
import { NO_MEDIA } from '../../../src/actors/providers/request-media.ts';
import { openTransport } from '../../../src/actors/providers/transport.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { type ProviderDouble, type Script, startProviderDouble } from '../../support/provider-double.ts';

export type Api = 'openai' | 'anthropic';
export const APIS: readonly Api[] = ['openai', 'anthropic'];

export const API_KEY = 'sk-double-0123456789';

export interface Answer {
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  readonly finish: FinishReason | null;
  readonly usage: CompletionUsage | null;
  readonly batches: readonly (readonly CompletionDelta[])[];
}

export interface ModelCalls extends AsyncDisposable {
  readonly double: ProviderDouble;
  /** The whole answer; rejects with the fault. */
  ask(api: Api, change?: RequestChange): Promise<Answer>;
  stream(api: Api, signal?: AbortSignal, change?: RequestChange): ReturnType<Adapter>;
}

export type RequestChange = Partial<Omit<CompletionRequest, 'connection'>> & {
  readonly connection?: Partial<Connection>;
};

export async function openModelCalls(script: Script, clock: Clock = systemClock): Promise<ModelCalls> {
  const double = await startProviderDouble({ script });
  const transport = openTransport();
  // As in the service, of one life with its transport: the port of a double that has ended may be the next one's.
  const adapters: Readonly<Record<Api, Adapter>> = {
    openai: completeWithOpenai,
    anthropic: createAnthropicAdapter(),
  };
  const stream: ModelCalls['stream'] = (api, signal = new AbortController().signal, change = {}) => {
    const { connection, ...rest } = change;
    const request: CompletionRequest = {
      connection: {
        provider: api,
        kind: api === 'openai' ? 'openai_compatible' : 'anthropic',
        baseUrl: double.baseUrl,
        apiKey: API_KEY,
        headers: {},
        timeoutMs: 5_000,
        retriesMax: 3,
        egress: 'any',
        ...connection,
      },
      modelId: 'double-1',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      temperature: 0.7,
      maxOutputTokens: null,
      ...rest,
    };
    const tools = { transport, clock, random: seededRandom(1), media: NO_MEDIA };
    return adapters[api](request, tools, signal);
  };
  return {
    double,
    stream,
    async ask(api, change) {
      return collect(stream(api, undefined, change));
    },
    async [Symbol.asyncDispose]() {
      await transport.close();
      await double.stop();
    },
  };
}

export async function collect(stream: AsyncIterable<readonly CompletionDelta[]>): Promise<Answer> {
  const batches: (readonly CompletionDelta[])[] = [];
  for await (const batch of stream) batches.push(batch);
  const deltas = batches.flat();
  const last = deltas.at(-1);
  return {
    text: deltas.map((delta) => (delta.kind === 'text' ? delta.text : '')).join(''),
    calls: deltas.flatMap((delta) => (delta.kind === 'tool_calls' ? delta.calls : [])),
    finish: last?.kind === 'finish' ? last.reason : null,
    usage: last?.kind === 'finish' ? last.usage : null,
    batches,
  };
}

/** What a failing stream handed out before its fault, and the fault. */
export async function failure(
  stream: AsyncIterable<readonly CompletionDelta[]>,
): Promise<{ readonly text: string; readonly error: unknown }> {
  let text = '';
  try {
    for await (const batch of stream) {
      for (const delta of batch) if (delta.kind === 'text') text += delta.text;
    }
  } catch (error) {
    return { text, error };
  }
  throw new Error('the call did not fail');
}
