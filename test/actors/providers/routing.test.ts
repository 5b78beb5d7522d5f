import { describe, expect, test } from 'vitest';
import { chooseModel, type RoutingFacts, splitReference } from '../../../src/actors/providers/routing.ts';

const facts = (change: Partial<RoutingFacts> = {}): RoutingFacts => ({
  configured: ['anthropic', 'openai'],
  isHealthy: () => true,
  firstModel: () => null,
  hasModel: () => null,
  roleModel: () => null,
  defaultModel: null,
  fallbackEnabled: true,
  offlineEnabled: true,
  ...change,
});
const referenceOf = (requested: string | null, change: Partial<RoutingFacts> = {}): string | null => {
  const choice = chooseModel(requested, facts(change));
  return choice === null ? null : `${choice.provider}:${choice.modelId}`;
};

describe('the choice of a model', () => {
  test('is what was asked for when its provider is configured', () => {
    expect(chooseModel('openai:gpt', facts())).toEqual({
      provider: 'openai',
      modelId: 'gpt',
      substitution: null,
    });
  });

  test('falls back to the default of the user, then to that of the format', () => {
    expect(referenceOf('vercel:x', { defaultModel: 'openai:gpt' })).toBe('openai:gpt');
    expect(referenceOf(null, { defaultModel: 'openai:gpt' })).toBe('openai:gpt');
    expect(referenceOf('vercel:x', { configured: ['lmstudio'] })).toBe('lmstudio:llama3.2');
  });

  test('says in one sentence that another model runs, and only when one was named', () => {
    expect(chooseModel('bare-name', facts({ defaultModel: 'openai:gpt' }))?.substitution).toBe(
      'requested bare-name unavailable, using openai:gpt',
    );
    expect(
      chooseModel(null, facts({ defaultModel: 'vercel:x', firstModel: () => 'first' }))?.substitution,
    ).toBe('requested vercel:x unavailable, using anthropic:first');
    expect(chooseModel(null, facts({ firstModel: () => 'first' }))?.substitution).toBeNull();
  });

  test('takes the role for its model, and an unset role for nothing', () => {
    const roleModel = (role: string) => (role === 'fast_utility' ? 'openai:mini' : null);
    expect(chooseModel('role:fast_utility', facts({ roleModel }))).toMatchObject({
      modelId: 'mini',
      substitution: null,
    });
    expect(chooseModel('role:summarizer', facts({ roleModel, defaultModel: 'openai:gpt' }))).toMatchObject({
      modelId: 'gpt',
      substitution: null,
    });
    expect(referenceOf(null, { roleModel, defaultModel: 'role:fast_utility' })).toBe('openai:mini');
  });

  test('passes over a provider that lately failed, and comes back to it last', () => {
    const onlyAnthropic = (provider: string) => provider === 'anthropic';
    expect(referenceOf('openai:gpt', { isHealthy: onlyAnthropic, firstModel: (p) => `first-${p}` })).toBe(
      'anthropic:first-anthropic',
    );
    expect(referenceOf('openai:gpt', { isHealthy: onlyAnthropic })).toBe('openai:gpt');
  });

  test('is not the default of the format where that is known to be missing, unless it was asked for', () => {
    const change = { configured: ['lmstudio'], hasModel: () => false, firstModel: () => 'qwen' };
    expect(referenceOf(null, change)).toBe('lmstudio:qwen');
    expect(referenceOf('lmstudio:llama3.2', change)).toBe('lmstudio:llama3.2');
  });

  test('is only what was named when fallback is switched off', () => {
    const change = { fallbackEnabled: false, defaultModel: 'openai:gpt', firstModel: () => 'first' };
    expect(referenceOf('vercel:x', change)).toBeNull();
    expect(referenceOf('anthropic:claude', change)).toBe('anthropic:claude');
    expect(referenceOf(null, { ...change, defaultModel: null })).toBe('anthropic:first');
  });

  test('is the offline responder exactly when nobody is configured', () => {
    expect(referenceOf('openai:gpt', { configured: [] })).toBe('local:offline');
    expect(referenceOf('local:offline', { configured: [] })).toBe('local:offline');
    expect(referenceOf('local:offline', { firstModel: () => 'first' })).toBe('anthropic:first');
    expect(referenceOf(null, { configured: [], offlineEnabled: false })).toBeNull();
  });
});

test('a reference is split at its first colon, and needs both sides', () => {
  expect(splitReference('openrouter:vendor/model:free')).toEqual({
    provider: 'openrouter',
    modelId: 'vendor/model:free',
  });
  for (const wrong of ['', 'name', ':name', 'openai:']) expect(splitReference(wrong)).toBeNull();
});
