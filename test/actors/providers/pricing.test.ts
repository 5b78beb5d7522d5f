import { describe, expect, test } from 'vitest';
import type { ListedModel } from '../../../src/actors/providers/model-list.ts';
import { pricedUsage, priceOf, type ReportedUsage } from '../../../src/actors/providers/pricing.ts';

const usage: ReportedUsage = {
  inputTokens: 10_000,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 1_000,
  reasoningTokens: 0,
  billedUsd: null,
};
const ANTHROPIC = { provider: 'anthropic', kind: 'anthropic' } as const;
const OPENAI = { provider: 'openai', kind: 'openai_compatible' } as const;
const CUSTOM = { provider: 'groq', kind: 'openai_compatible' } as const;
const LMSTUDIO = { provider: 'lmstudio', kind: 'lmstudio' } as const;

describe('the cost of a call', () => {
  test('is what the provider billed, whatever the list says', () => {
    const price = priceOf(OPENAI, 'gpt-4.1', null);
    expect(pricedUsage({ ...usage, billedUsd: 0.5 }, price).cost).toEqual({ usd: 0.5, source: 'provider' });
    expect(pricedUsage({ ...usage, billedUsd: 0 }, price).cost).toEqual({ usd: 0, source: 'provider' });
  });

  test('is worked out from the list price otherwise', () => {
    expect(pricedUsage(usage, priceOf(OPENAI, 'gpt-4.1', null)).cost).toEqual({
      usd: 0.028,
      source: 'estimate',
    });
  });

  test('counts what was read from a cache, and what was written to it, at their own prices', () => {
    const cached = { ...usage, cacheReadTokens: 8_000, cacheWriteTokens: 1_000, outputTokens: 0 };
    // 1,000 × 3 + 8,000 × 0.30 + 1,000 × 3.75, for a million each.
    expect(pricedUsage(cached, priceOf(ANTHROPIC, 'claude-sonnet-4-5', null)).cost?.usd).toBeCloseTo(0.00915);
    // No price for the cache: it is input like any other.
    expect(pricedUsage(cached, priceOf(OPENAI, 'gpt-5-pro', null)).cost?.usd).toBeCloseTo(0.15);
  });

  test('is unknown where neither is known', () => {
    expect(pricedUsage(usage, null).cost).toBeNull();
  });
});

describe('the price of a model', () => {
  const listed = {
    id: 'x',
    costPer1kInput: 0.001,
    costPer1kOutput: 0.002,
    costPer1kCacheRead: null,
    costPer1kCacheWrite: null,
  } as ListedModel;

  test('is what the list of its provider says', () => {
    expect(priceOf(CUSTOM, 'x', listed)).toMatchObject({ inputPer1k: 0.001, outputPer1k: 0.002 });
    expect(priceOf(OPENAI, 'gpt-4.1', listed)?.inputPer1k).toBe(0.001);
  });

  test('is found under the date of a release, but not under a longer name', () => {
    const price = priceOf(ANTHROPIC, 'claude-sonnet-4-5', null);
    expect(price?.inputPer1k).toBe(0.003);
    expect(priceOf(ANTHROPIC, 'claude-sonnet-4-5-20250929', null)).toEqual(price);
    expect(priceOf(ANTHROPIC, 'claude-3-5-haiku-latest', null)?.outputPer1k).toBe(0.004);
    expect(priceOf(OPENAI, 'gpt-4o-2024-08-06', null)?.inputPer1k).toBe(0.0025);
    expect(priceOf(OPENAI, 'gpt-4o-audio-preview', null)).toBeNull();
  });

  test('is unknown at home, and of models that somebody else has named', () => {
    expect(priceOf(LMSTUDIO, 'gpt-4.1', null)).toBeNull();
    expect(priceOf(CUSTOM, 'gpt-4.1', null)).toBeNull();
    expect(priceOf(OPENAI, 'constructor', null)).toBeNull();
  });
});
