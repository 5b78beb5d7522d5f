import { describe, expect, test } from 'vitest';
import {
  planRoute,
  type RoutingFacts,
  referenceOf,
  splitReference,
  substitutionOf,
} from '../../../src/actors/providers/routing.ts';

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
const planOf = (requested: string | null, change: Partial<RoutingFacts> = {}, fallback?: string) =>
  planRoute({ requested, fallback }, facts(change)).candidates.map(referenceOf);
/** The model that a turn runs on. */
const chosen = (requested: string | null, change?: Partial<RoutingFacts>): string | null =>
  planOf(requested, change)[0] ?? null;
/** What the user is told about it. */
const told = (requested: string | null, change?: Partial<RoutingFacts>): string | null => {
  const plan = planRoute({ requested }, facts(change));
  const [first] = plan.candidates;
  return first === undefined ? null : substitutionOf(plan, first);
};

describe('the model that a turn runs on', () => {
  test('is what was asked for when its provider is configured', () => {
    expect(chosen('openai:gpt')).toBe('openai:gpt');
    expect(told('openai:gpt')).toBeNull();
  });

  test('falls back to the default of the user, then to that of the format', () => {
    expect(chosen('vercel:x', { defaultModel: 'openai:gpt' })).toBe('openai:gpt');
    expect(chosen(null, { defaultModel: 'openai:gpt' })).toBe('openai:gpt');
    expect(chosen('vercel:x', { configured: ['lmstudio'] })).toBe('lmstudio:llama3.2');
  });

  test('is what the caller knows to be good before it is the default', () => {
    const change = { defaultModel: 'openai:gpt' };
    expect(planOf('vercel:x', change, 'anthropic:claude')).toEqual(['anthropic:claude', 'openai:gpt']);
    expect(planOf(null, change, 'anthropic:claude')[0]).toBe('anthropic:claude');
  });

  test('is told in one sentence when it is another one, and only when one was named', () => {
    expect(told('bare-name', { defaultModel: 'openai:gpt' })).toBe(
      'requested bare-name unavailable, using openai:gpt',
    );
    expect(told(null, { defaultModel: 'vercel:x', firstModel: () => 'first' })).toBe(
      'requested vercel:x unavailable, using anthropic:first',
    );
    expect(told(null, { firstModel: () => 'first' })).toBeNull();
  });

  test('is that of the role, and an unset role asks for nothing', () => {
    const roleModel = (role: string) => (role === 'fast_utility' ? 'openai:mini' : null);
    expect(chosen('role:fast_utility', { roleModel })).toBe('openai:mini');
    expect(told('role:fast_utility', { roleModel })).toBeNull();
    expect(chosen('role:summarizer', { roleModel, defaultModel: 'openai:gpt' })).toBe('openai:gpt');
    expect(told('role:summarizer', { roleModel, defaultModel: 'openai:gpt' })).toBeNull();
    expect(chosen(null, { roleModel, defaultModel: 'role:fast_utility' })).toBe('openai:mini');
  });

  test('is not of a provider that lately failed, as long as there is another', () => {
    const isHealthy = (provider: string) => provider === 'anthropic';
    expect(chosen('openai:gpt', { isHealthy, firstModel: (p) => `first-${p}` })).toBe(
      'anthropic:first-anthropic',
    );
    expect(chosen('openai:gpt', { isHealthy })).toBe('openai:gpt');
  });

  test('is not the default of the format where that is known to be missing, unless it was asked for', () => {
    const change = { configured: ['lmstudio'], hasModel: () => false, firstModel: () => 'qwen' };
    expect(chosen(null, change)).toBe('lmstudio:qwen');
    expect(chosen('lmstudio:llama3.2', change)).toBe('lmstudio:llama3.2');
  });

  test('is only what was named when fallback is switched off', () => {
    const change = { fallbackEnabled: false, defaultModel: 'openai:gpt', firstModel: () => 'first' };
    expect(planOf('vercel:x', change)).toEqual([]);
    expect(planOf('anthropic:claude', change)).toEqual(['anthropic:claude']);
    expect(chosen(null, { ...change, defaultModel: null })).toBe('anthropic:first');
  });

  test('is the offline responder exactly when nobody is configured', () => {
    expect(chosen('openai:gpt', { configured: [] })).toBe('local:offline');
    expect(chosen('local:offline', { configured: [] })).toBe('local:offline');
    expect(chosen('local:offline', { firstModel: () => 'first' })).toBe('anthropic:first');
    expect(chosen(null, { configured: [], offlineEnabled: false })).toBeNull();
  });
});

test('a plan names every model once, healthy providers before those that failed', () => {
  const change = {
    configured: ['openrouter', 'anthropic', 'openai'],
    defaultModel: 'openai:gpt',
    isHealthy: (provider: string) => provider !== 'openai',
    firstModel: (provider: string) => (provider === 'openai' ? 'gpt' : 'first'),
  };
  expect(planOf('anthropic:first', change)).toEqual(['anthropic:first', 'openrouter:first', 'openai:gpt']);
});

test('a reference is split at its first colon, and needs both sides', () => {
  expect(splitReference('openrouter:vendor/model:free')).toEqual({
    provider: 'openrouter',
    modelId: 'vendor/model:free',
  });
  for (const wrong of ['', 'name', ':name', 'openai:']) expect(splitReference(wrong)).toBeNull();
});
