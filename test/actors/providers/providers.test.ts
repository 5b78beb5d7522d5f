// The providers actor on a real system, against provider doubles.

import { describe, expect, test } from 'vitest';
import type { CompletionRequest, ModelRoute } from '../../../src/actors/providers/protocol.ts';
import { freePort } from '../../support/free-port.ts';
import { anthropicAt, lmstudioAt, openaiAt, openProviderSystem } from './provider-system.ts';

/** openai has failed a turn, anthropic has not; both list their models. */
async function openWithOneFailed() {
  const system = await openProviderSystem();
  const openai = await system.double({ script: {} });
  const anthropic = await system.double({ script: {} });
  await system.set({ ...openaiAt(openai), ...anthropicAt(anthropic) });
  await system.providers.ask('models', {});
  system.providers.tell('met', { provider: 'openai', baseUrl: openai.baseUrl, healthy: false });
  return system;
}

describe('the list of providers', () => {
  test('has the five built-ins in order, and says what to set for those that are not configured', async () => {
    await using system = await openProviderSystem();
    const { providers } = await system.providers.ask('list', {});
    expect(providers.map((entry) => entry.name)).toEqual([
      'openrouter',
      'anthropic',
      'openai',
      'vercel',
      'lmstudio',
    ]);
    for (const entry of providers) {
      expect(entry.status).toBe('not_configured');
      expect(entry).not.toHaveProperty('models');
    }
    expect(providers[2]?.error).toContain('OPENAI_API_KEY');
  });

  test('shows at most five models of a configured one', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: ['a', 'b', 'c', 'd', 'e', 'f'] } });
    await system.set(openaiAt(double));
    const { providers } = await system.providers.ask('list', {});
    expect(providers[2]).toEqual({ name: 'openai', status: 'configured', models: ['a', 'b', 'c', 'd', 'e'] });
  });
});

describe('the models', () => {
  test('come from every configured provider, and have what the provider says of them', async () => {
    await using system = await openProviderSystem();
    const openai = await system.double({ script: {}, models: { list: ['gpt-4.1', 'mystery'] } });
    const anthropic = await system.double({
      script: {},
      models: {
        list: [
          {
            type: 'model',
            id: 'claude-next',
            display_name: 'Claude Next',
            max_input_tokens: 500_000,
            max_tokens: 50_000,
            capabilities: { image_input: { supported: true } },
          },
        ],
      },
    });
    await system.set({ ...openaiAt(openai), ...anthropicAt(anthropic) });
    const { models, count } = await system.providers.ask('models', {});
    expect(count).toBe(3);
    expect(models.map((model) => model.id)).toEqual([
      'anthropic:claude-next',
      'openai:gpt-4.1',
      'openai:mystery',
    ]);
    expect(models[0]).toMatchObject({
      name: 'Claude Next',
      context_window: 500_000,
      max_output_tokens: 50_000,
      supports_vision: true,
      supports_tools: true,
    });
    expect(models[1]).toMatchObject({
      context_window: 1_047_576,
      supports_streaming: true,
      cost_per_1k_input: 0.002,
      cost_per_1k_output: 0.008,
    });
    expect(models[2]).toMatchObject({
      provider: 'openai',
      context_length: 4096,
      context_window: 4096,
      max_output_tokens: null,
      supports_vision: false,
      cost_per_1k_input: null,
      pricing_currency: 'USD',
      input_modalities: ['text'],
      output_modalities: ['text'],
      description: null,
    });
  });

  test('of an aggregator carry prices, windows and modalities', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({
      script: {},
      models: {
        list: [
          {
            id: 'vendor/model',
            name: 'Vendor: Model',
            description: 'A model.',
            context_length: 64_000,
            top_provider: { max_completion_tokens: 8_000 },
            architecture: { input_modalities: ['text', 'image'], output_modalities: ['text', 'image'] },
            pricing: { prompt: '0.000003', completion: '0.000015' },
            supported_parameters: ['temperature', 'response_format'],
          },
        ],
      },
    });
    await system.set({
      'providers.openrouter.api_key': 'sk-or-0123456789',
      'providers.openrouter.base_url': double.baseUrl,
      'providers.openrouter.app_name': 'Mein Büro',
    });
    const { models } = await system.providers.ask('models', { provider: 'openrouter' });
    expect(models[0]).toMatchObject({
      id: 'openrouter:vendor/model',
      context_window: 64_000,
      max_output_tokens: 8_000,
      supports_tools: false,
      supports_vision: true,
      supports_image: true,
      supports_json_mode: true,
      cost_per_1k_input: 0.003,
      cost_per_1k_output: 0.015,
      description: 'A model.',
    });
    expect(double.listings[0]?.headers).toMatchObject({
      authorization: 'Bearer sk-or-0123456789',
      'x-title': 'Mein B?ro',
    });
  });

  test('are asked for once while they are fresh', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {} });
    await system.set(openaiAt(double));
    await Promise.all([system.providers.ask('models', {}), system.providers.ask('list', {})]);
    await system.providers.ask('models', {});
    expect(double.listings).toHaveLength(1);
    system.elapse(6 * 60 * 1000);
    await system.providers.ask('models', {});
    expect(double.listings).toHaveLength(2);
  });

  test('of a provider that fails are left out, those of the others are not', async () => {
    await using system = await openProviderSystem();
    const good = await system.double({ script: {} });
    const bad = await system.double({ script: {}, models: { list: [], status: 503 } });
    await system.set({ ...openaiAt(good), ...lmstudioAt(bad) });
    expect((await system.providers.ask('models', {})).models.map((model) => model.id)).toEqual([
      'openai:double-1',
    ]);
  });

  test('of an LM Studio whose address was given without a version are found', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: ['local-model'] } });
    await system.set(lmstudioAt(double));
    const { models } = await system.providers.ask('models', {});
    expect(models[0]).toMatchObject({
      id: 'lmstudio:local-model',
      context_window: 32_768,
      max_output_tokens: 8_192,
    });
    expect(double.listings[0]?.path).toBe('/v1/models');
  });
});

describe('health', () => {
  test('is well when nobody is configured', async () => {
    await using system = await openProviderSystem();
    expect(await system.providers.ask('health', {})).toEqual({ status: 'healthy', providers: {} });
  });

  test('says who answered and who did not, and why', async () => {
    await using system = await openProviderSystem();
    const good = await system.double({ script: {}, models: { list: ['a', 'b'] } });
    const bad = await system.double({ script: {}, models: { list: [], status: 500 } });
    await system.set({ ...openaiAt(good), ...anthropicAt(bad) });
    expect(await system.providers.ask('health', {})).toEqual({
      status: 'degraded',
      providers: {
        openai: { status: 'healthy', models_available: 2 },
        anthropic: { status: 'unhealthy', error: 'anthropic answered 500: scripted failure' },
      },
    });
  });

  test('does not wait for a silent provider longer than four seconds', async () => {
    await using system = await openProviderSystem();
    const good = await system.double({ script: {} });
    const silent = await system.double({ script: {}, models: { list: [], silent: true } });
    await system.set({ ...openaiAt(good), ...lmstudioAt(silent) });
    const { status, providers } = await system.providers.ask('health', {});
    expect(status).toBe('degraded');
    expect(providers.lmstudio).toEqual({ status: 'unhealthy', error: 'no answer in time' });
    expect(providers.openai?.status).toBe('healthy');
  });
});

describe('a turn', () => {
  test('runs on the model that was asked for', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {} });
    await system.set({ ...openaiAt(double), 'providers.openai.timeout': 7 });
    const route = await system.providers.ask('resolve', { model: 'openai:double-1' });
    expect(route).toMatchObject({
      reference: 'openai:double-1',
      modelId: 'double-1',
      contextWindow: 4_096,
      // Nobody knows this model, so it gets the setting.
      maxOutputTokens: 4_096,
      supportsTools: true,
      substitution: null,
      connection: { provider: 'openai', kind: 'openai_compatible', timeoutMs: 7_000, retriesMax: 3 },
    });
  });

  test('obeys the limits that the user set for its model', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {} });
    await system.set({
      ...openaiAt(double),
      'context_limits.models': { 'double-1': { context_window: 9_000 } },
    });
    const route = await system.providers.ask('resolve', { model: 'openai:double-1' });
    expect(route.contextWindow).toBe(9_000);
  });

  test('that names none runs on the first model of the first configured provider, without a word about it', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({
      script: {},
      models: { list: ['text-embedding-3-small', 'gpt-4.1'] },
    });
    await system.set(openaiAt(double));
    const route = await system.providers.ask('resolve', { model: null });
    expect(route).toMatchObject({ reference: 'openai:gpt-4.1', substitution: null });
  });

  test('that names none does not run on a default that LM Studio does not have', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: ['qwen3-8b'] } });
    await system.set(lmstudioAt(double));
    expect((await system.providers.ask('resolve', { model: null })).reference).toBe('lmstudio:qwen3-8b');
  });

  test('leaves a failing provider alone for its cool-down', async () => {
    await using system = await openProviderSystem();
    const openai = await system.double({ script: {} });
    const anthropic = await system.double({ script: {} });
    await system.set({
      ...openaiAt(openai),
      ...anthropicAt(anthropic),
      'preferences.default_model': 'anthropic:claude-x',
    });
    const resolve = async () => system.providers.ask('resolve', { model: 'openai:gpt-4.1' });
    expect((await resolve()).reference).toBe('openai:gpt-4.1');

    system.providers.tell('met', {
      provider: 'openai',
      baseUrl: openai.baseUrl,
      healthy: false,
      error: 'down',
    });
    expect(await resolve()).toMatchObject({
      reference: 'anthropic:claude-x',
      substitution: 'requested openai:gpt-4.1 unavailable, using anthropic:claude-x',
    });

    system.elapse(31_000);
    expect(await resolve()).toMatchObject({ reference: 'openai:gpt-4.1', substitution: null });
  });

  test('is not brought back to a failing provider by whoever looks at the health of all', async () => {
    await using system = await openWithOneFailed();
    expect(await system.providers.ask('health', {})).toMatchObject({ status: 'healthy' });
    const { connection } = await system.providers.ask('resolve', { model: 'openai:gpt-4.1' });
    expect(connection.provider).toBe('anthropic');
  });

  test('is one of many that tries a provider whose cool-down is over', async () => {
    await using system = await openWithOneFailed();
    await system.providers.ask('catalog', {});
    system.elapse(31_000);
    const routes = await Promise.all(
      Array.from({ length: 8 }, () => system.providers.ask('resolve', { model: 'openai:gpt-4.1' })),
    );
    const triers = routes.filter(({ connection }) => connection.provider === 'openai');
    expect(triers).toHaveLength(1);
  });

  test('asks a failing provider after all when there is no other', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: [], status: 500 } });
    await system.set(openaiAt(double));
    system.providers.tell('met', { provider: 'openai', baseUrl: double.baseUrl, healthy: false });
    expect(await system.providers.ask('resolve', { model: 'openai:gpt-4.1' })).toMatchObject({
      reference: 'openai:gpt-4.1',
      substitution: null,
    });
  });

  test('forgets what it knew of a provider whose connection changed', async () => {
    await using system = await openProviderSystem();
    const first = await system.double({ script: {}, models: { list: ['old'] } });
    const second = await system.double({ script: {}, models: { list: ['new'] } });
    await system.set(openaiAt(first));
    system.providers.tell('met', { provider: 'openai', baseUrl: first.baseUrl, healthy: false });
    expect((await system.providers.ask('models', {})).models[0]?.name).toBe('old');
    await system.set(openaiAt(second));
    expect((await system.providers.ask('models', {})).models[0]?.name).toBe('new');
    expect((await system.providers.ask('resolve', { model: 'openai:new' })).substitution).toBeNull();
  });

  test('does not hold against a connection what became of the one before it', async () => {
    await using system = await openProviderSystem();
    const silent = await system.double({ script: {}, models: { list: [], silent: true } });
    const other = await system.double({ script: {} });
    const good = await system.double({ script: {} });
    await system.set({ ...openaiAt(silent), ...anthropicAt(other) });
    const checked = system.providers.ask('health', {});
    await silent.listed(0);
    await system.set(openaiAt(good));
    await system.providers.ask('catalog', {}); // Sees the change, and gives up the list.
    expect((await checked).providers.openai?.status).toBe('unhealthy');
    const call = { provider: 'openai', baseUrl: silent.baseUrl };
    system.providers.tell('met', { ...call, healthy: false }); // A turn that began before the change.
    expect((await system.providers.ask('resolve', { model: 'openai:gpt-4.1' })).substitution).toBeNull();
  });

  test('goes to a provider that does not list its models, whoever has asked for its health', async () => {
    await using system = await openProviderSystem();
    const bare = await system.double({ script: {}, models: { list: [], status: 404 } });
    const other = await system.double({ script: {} });
    await system.set({ ...openaiAt(bare), ...anthropicAt(other) });
    expect((await system.providers.ask('health', {})).providers.openai?.status).toBe('unhealthy');
    expect((await system.providers.ask('resolve', { model: 'openai:gpt-4.1' })).substitution).toBeNull();
  });

  test('that began before a change of the connection leaves nothing of the old one behind', async () => {
    await using system = await openProviderSystem();
    const slow = await system.double({ script: {}, models: { list: [], silent: true } });
    const first = await system.double({ script: {}, models: { list: ['old'] } });
    const second = await system.double({ script: {}, models: { list: ['new'] } });
    await system.set({ ...openaiAt(first), ...anthropicAt(slow) });
    await first.listed(0);
    await system.providers.ask('catalog', {});
    system.providers.tell('met', { provider: 'openai', baseUrl: first.baseUrl, healthy: false });
    // Because its provider has failed, it waits for the lists of all, which one of them keeps back.
    const turn = system.providers.ask('resolve', { model: 'openai:mystery' });
    await slow.listed(0);
    await system.set(openaiAt(second));
    await system.providers.ask('catalog', {}); // Sees the change.
    slow.release();
    expect((await turn).connection.baseUrl).toBe(first.baseUrl);
    const { models } = await system.providers.ask('models', { provider: 'openai' });
    expect(models.map(({ name }) => name)).toEqual(['new']);
  });

  test('is not possible when the only provider cannot name a model and none was asked for', async () => {
    await using system = await openProviderSystem({
      'providers.openai.api_key': 'sk-double-0123456789',
      'providers.openai.base_url': `http://127.0.0.1:${await freePort()}/v1`,
    });
    await expect(system.providers.ask('resolve', { model: null })).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });

  test('is answered offline while no provider is configured, and never afterwards', async () => {
    await using system = await openProviderSystem();
    expect(await system.providers.ask('resolve', { model: null })).toMatchObject({
      reference: 'local:offline',
      substitution: null,
      connection: { kind: 'offline' },
    });
    expect((await system.providers.ask('resolve', { model: 'openai:gpt-4.1' })).substitution).toBe(
      'requested openai:gpt-4.1 unavailable, using local:offline',
    );
    const double = await system.double({ script: {} });
    await system.set(openaiAt(double));
    expect((await system.providers.ask('resolve', { model: 'local:offline' })).reference).toBe(
      'openai:double-1',
    );
  });

  test('is refused without a provider when the offline responder is switched off', async () => {
    await using system = await openProviderSystem({ 'models.offline_fallback.enabled': false });
    await expect(system.providers.ask('resolve', { model: null })).rejects.toMatchObject({
      code: 'model_not_found',
      kind: 'not_found',
    });
  });
});

describe('a completion on a run host', () => {
  test('streams from the provider that the route names', async () => {
    await using system = await openProviderSystem({}, { runHost: true });
    const double = await system.double({ script: { text: ['from ', 'afar'], chunkDelayMs: 1 } });
    await system.set(openaiAt(double));
    const route = await system.providers.ask('resolve', { model: 'openai:double-1' });
    let text = '';
    for await (const batch of system.completions.stream('complete', requestTo(route))) {
      for (const delta of batch) if (delta.kind === 'text') text += delta.text;
    }
    expect(text).toBe('from afar');
  });

  test('carries its fault across the thread', async () => {
    await using system = await openProviderSystem({}, { runHost: true });
    const double = await system.double({
      script: { fault: { kind: 'status', status: 429, headers: { 'retry-after': '3' } } },
    });
    await system.set(openaiAt(double));
    const route = await system.providers.ask('resolve', { model: 'openai:double-1' });
    await expect(system.completions.stream('complete', requestTo(route)).next()).rejects.toMatchObject({
      code: 'provider_rate_limited',
      retryAfterMs: 3_000,
    });
  });

  test('aborts its request when the stream is stopped', async () => {
    await using system = await openProviderSystem({}, { runHost: true });
    const double = await system.double({
      script: { text: ['a', 'b'], fault: { kind: 'stall', afterChunks: 1 } },
    });
    await system.set(openaiAt(double));
    const route = await system.providers.ask('resolve', { model: 'openai:double-1' });
    const stream = system.completions.stream('complete', requestTo(route));
    await stream.next();
    await stream.return?.();
    expect(await (await double.received(0)).ended).toBe('client_left');
  });
});

function requestTo({ connection, modelId }: ModelRoute): CompletionRequest {
  return {
    connection,
    modelId,
    messages: [{ role: 'user', content: 'hello' }],
    tools: [],
    temperature: 0.7,
    maxOutputTokens: null,
  };
}
