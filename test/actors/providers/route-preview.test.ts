// The preview of a route says what a live turn does, because it is the same plan.

import { describe, expect, test } from 'vitest';
import { anthropicAt, openaiAt, openProviderSystem, type ProviderSystem } from './provider-system.ts';

/** What the preview says, and what a turn gets. */
async function both(system: ProviderSystem, model?: string, fallback?: string) {
  const preview = await system.providers.ask('route', {
    ...(model === undefined ? {} : { model }),
    ...(fallback === undefined ? {} : { fallback }),
  });
  const question = { model: model ?? null, fallback: fallback ?? null };
  const turn = await system.providers.ask('resolve', question);
  return { preview, turn };
}

/** Answers the address of the first. */
async function twoProviders(system: ProviderSystem): Promise<string> {
  const openai = await system.double({ script: {}, models: { list: ['gpt-4.1', 'mystery'] } });
  const anthropic = await system.double({ script: {}, models: { list: ['claude-sonnet-4-5'] } });
  await system.set({ ...openaiAt(openai), ...anthropicAt(anthropic) });
  return openai.baseUrl;
}

describe('the preview of a route', () => {
  test('names the model that runs, and those that would be tried after it', async () => {
    await using system = await openProviderSystem();
    await twoProviders(system);
    const { preview } = await both(system, 'openai:gpt-4.1');
    const entry = {
      model: 'openai:gpt-4.1',
      model_id: 'gpt-4.1',
      provider: 'openai',
      provider_label: 'OpenAI',
      configured: true,
      healthy: true,
      known: true,
      context_window: 1_047_576,
      max_output_tokens: 32_768,
      cost_per_1k_input: 0.002,
      cost_per_1k_output: 0.008,
    };
    expect(preview).toMatchObject({
      requested: 'openai:gpt-4.1',
      resolved: entry,
      substituted: false,
      fallback_enabled: true,
    });
    expect(preview.candidates[0]).toEqual(entry);
    expect(preview.candidates.map(({ model }) => model)).toEqual([
      'openai:gpt-4.1',
      'anthropic:claude-sonnet-4-5',
    ]);
  });

  test('says of a model that nobody knows only that', async () => {
    await using system = await openProviderSystem();
    await twoProviders(system);
    const { preview } = await both(system, 'openai:unheard-of');
    expect(preview.resolved).toMatchObject({
      model: 'openai:unheard-of',
      known: false,
      context_window: null,
      max_output_tokens: null,
      cost_per_1k_input: null,
    });
  });

  test('puts a provider that lately failed last', async () => {
    await using system = await openProviderSystem();
    const baseUrl = await twoProviders(system);
    await system.providers.ask('models', {});
    system.providers.tell('met', { provider: 'openai', baseUrl, healthy: false });
    const { preview } = await both(system, 'openai:gpt-4.1');
    expect(preview).toMatchObject({ substituted: true, resolved: { provider: 'anthropic' } });
    expect(preview.candidates.at(-1)).toMatchObject({ model: 'openai:gpt-4.1', healthy: false });
  });

  test('does not use up the one try of a provider whose cool-down is over', async () => {
    await using system = await openProviderSystem();
    const baseUrl = await twoProviders(system);
    await system.providers.ask('models', {});
    system.providers.tell('met', { provider: 'openai', baseUrl, healthy: false });
    // An answer means that what was told before has arrived.
    await system.providers.ask('catalog', {});
    system.elapse(31_000);
    for (let n = 0; n < 2; n += 1) {
      const preview = await system.providers.ask('route', { model: 'openai:gpt-4.1' });
      expect(preview.resolved.provider).toBe('openai');
    }
    const turn = async () =>
      (await system.providers.ask('resolve', { model: 'openai:gpt-4.1' })).connection.provider;
    expect(await turn()).toBe('openai');
    expect(await turn()).toBe('anthropic');
  });

  test('is answered by the offline responder while nobody is configured', async () => {
    await using system = await openProviderSystem();
    const { preview } = await both(system, 'openai:gpt-4.1');
    expect(preview).toMatchObject({
      substituted: true,
      resolved: { model: 'local:offline', provider_label: 'Offline responder', known: true },
    });
  });

  test('is not found when nothing can run, as a turn is', async () => {
    await using system = await openProviderSystem();
    await twoProviders(system);
    await system.set({ 'models.fallback_enabled': false });
    await expect(system.providers.ask('route', { model: 'vercel:x' })).rejects.toMatchObject({
      code: 'model_not_found',
    });
  });

  test.each<[string, string | undefined, string | undefined]>([
    ['a model that can run', 'openai:mystery', undefined],
    ['one of a provider that is not configured', 'vercel:x', undefined],
    ['a second choice', 'vercel:x', 'openai:mystery'],
    ['only a second choice', undefined, 'openai:mystery'],
    ['a role', 'role:fast_utility', undefined],
    ['a role that is not set', 'role:summarizer', undefined],
    ['a bare name', 'gpt-4.1', undefined],
    ['nothing', undefined, undefined],
  ])('agrees with a live turn on %s', async (_, model, fallback) => {
    await using system = await openProviderSystem({ 'models.roles.fast_utility': 'openai:mystery' });
    await twoProviders(system);
    const { preview, turn } = await both(system, model, fallback);
    expect(turn.reference).toBe(preview.resolved.model);
    expect(turn.substitution !== null).toBe(preview.substituted);
    // And the next one, when the provider of the first fails in the turn.
    const next = preview.candidates.find(({ provider }) => provider !== preview.resolved.provider);
    const failedProviders = [preview.resolved.provider];
    const walked = system.providers.ask('resolve', {
      model: model ?? null,
      fallback: fallback ?? null,
      failedProviders,
    });
    if (next === undefined) await expect(walked).rejects.toMatchObject({ code: 'model_not_found' });
    else expect((await walked).reference).toBe(next.model);
  });
});

test('lists are fetched after a key was set, before anybody asks for them', async () => {
  await using system = await openProviderSystem();
  const double = await system.double({ script: {} });
  const listed = double.listed(0);
  await system.set(openaiAt(double));
  expect((await listed).path).toBe('/v1/models');
});
