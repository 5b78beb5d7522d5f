// Pricing: what a call costs. Pure.
// S1 What the provider says it billed comes first, then the list price, else the cost is unknown: nothing is made up.
// S2 A list price is what the provider's own list says, or for the two vendors whose lists name no prices the table below.

import type { ListedModel } from './model-list.ts';
import type { CompletionUsage, Cost, Price, ProviderKind } from './protocol.ts';

/** What a provider reports of one call. */
export interface ReportedUsage extends Omit<CompletionUsage, 'cost'> {
  /** In US dollars; null when it does not say. */
  readonly billedUsd: number | null;
}

/** S2. Null for a model of which no price is known, and for those that run at home. */
export function priceOf(
  { provider, kind }: { readonly provider: string; readonly kind: ProviderKind },
  modelId: string,
  listed: ListedModel | null,
): Price | null {
  if (listed !== null && listed.costPer1kInput !== null && listed.costPer1kOutput !== null) {
    return {
      inputPer1k: listed.costPer1kInput,
      outputPer1k: listed.costPer1kOutput,
      cacheReadPer1k: listed.costPer1kCacheRead,
      cacheWritePer1k: listed.costPer1kCacheWrite,
    };
  }
  // A registered endpoint may call its models what it likes.
  if (kind === 'anthropic') return tablePrice(ANTHROPIC_PRICES, modelId);
  return provider === 'openai' ? tablePrice(OPENAI_PRICES, modelId) : null;
}

export function pricedUsage({ billedUsd, ...usage }: ReportedUsage, price: Price | null): CompletionUsage {
  return { ...usage, cost: costOf(usage, billedUsd, price) };
}

/** S1. */
function costOf(
  usage: Omit<CompletionUsage, 'cost'>,
  billedUsd: number | null,
  price: Price | null,
): Cost | null {
  if (billedUsd !== null) return { usd: billedUsd, source: 'provider' };
  if (price === null) return null;
  const { cacheReadTokens, cacheWriteTokens } = usage;
  const plainTokens = Math.max(usage.inputTokens - cacheReadTokens - cacheWriteTokens, 0);
  const perThousand =
    plainTokens * price.inputPer1k +
    cacheReadTokens * (price.cacheReadPer1k ?? price.inputPer1k) +
    cacheWriteTokens * (price.cacheWritePer1k ?? price.inputPer1k) +
    usage.outputTokens * price.outputPer1k;
  return { usd: rounded(perThousand / 1000), source: 'estimate' };
}

/** US dollars for a million tokens: input, output, input that was read from a cache, input that was written to one. */
type PerMillion = readonly [input: number, output: number, cacheRead?: number, cacheWrite?: number];

/** As the vendors publish them; models that are not here have no price rather than a wrong one. */
const OPENAI_PRICES: Readonly<Record<string, PerMillion>> = {
  'gpt-5.2': [1.75, 14, 0.175],
  'gpt-5.1': [1.25, 10, 0.125],
  'gpt-5': [1.25, 10, 0.125],
  'gpt-5-mini': [0.25, 2, 0.025],
  'gpt-5-nano': [0.05, 0.4, 0.005],
  'gpt-5-pro': [15, 120],
  'gpt-4.1': [2, 8, 0.5],
  'gpt-4.1-mini': [0.4, 1.6, 0.1],
  'gpt-4.1-nano': [0.1, 0.4, 0.025],
  'gpt-4o': [2.5, 10, 1.25],
  'gpt-4o-mini': [0.15, 0.6, 0.075],
  'gpt-4-turbo': [10, 30],
  'gpt-3.5-turbo': [0.5, 1.5],
  o1: [15, 60, 7.5],
  o3: [2, 8, 0.5],
  'o3-mini': [1.1, 4.4, 0.55],
  'o3-pro': [20, 80],
  'o4-mini': [1.1, 4.4, 0.275],
  'text-embedding-3-small': [0.02, 0],
  'text-embedding-3-large': [0.13, 0],
  'text-embedding-ada-002': [0.1, 0],
};

/** A cache is read for a tenth of the price and written for a quarter more. */
const cached = (input: number, output: number): PerMillion => [input, output, input / 10, input * 1.25];
const ANTHROPIC_PRICES: Readonly<Record<string, PerMillion>> = {
  'claude-opus-4-6': cached(5, 25),
  'claude-opus-4-5': cached(5, 25),
  'claude-opus-4-1': cached(15, 75),
  'claude-opus-4': cached(15, 75),
  'claude-sonnet-4-6': cached(3, 15),
  'claude-sonnet-4-5': cached(3, 15),
  'claude-sonnet-4': cached(3, 15),
  'claude-3-7-sonnet': cached(3, 15),
  'claude-3-5-sonnet': cached(3, 15),
  'claude-haiku-4-5': cached(1, 5),
  'claude-3-5-haiku': cached(0.8, 4),
  'claude-3-haiku': cached(0.25, 1.25),
  'claude-3-opus': cached(15, 75),
};

/** The same model under the date of its release, or as the latest of its line. */
const RELEASE = /-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

function tablePrice(table: Readonly<Record<string, PerMillion>>, modelId: string): Price | null {
  const name = modelId.replace(RELEASE, '');
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found === undefined) return null;
  const [input, output, cacheRead, cacheWrite] = found;
  return {
    inputPer1k: rounded(input / 1000),
    outputPer1k: rounded(output / 1000),
    cacheReadPer1k: cacheRead === undefined ? null : rounded(cacheRead / 1000),
    cacheWritePer1k: cacheWrite === undefined ? null : rounded(cacheWrite / 1000),
  };
}

/** Without the last digits of a sum of fractions, which mean nothing. */
function rounded(usd: number): number {
  return Number(usd.toPrecision(12));
}
