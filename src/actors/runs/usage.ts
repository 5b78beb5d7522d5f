// Usage: what the model calls of one turn used, added up. Estimated where a provider does not report it. A call that a lost
// actor had under way is not in it: nobody knows what it used.

import type { CompletionUsage, Price } from '../providers/protocol.ts';
import type { DoneEvent } from './events.ts';

/** The totals as plain data. */
export type UsageCounts = Pick<
  UsageTotals,
  'model' | 'inputTokens' | 'outputTokens' | 'reasoningTokens' | 'costUsd' | 'isEstimate' | 'contextTokens'
>;

export class UsageTotals {
  /** The model that was used last; null before the first. */
  model: string | null = null;
  inputTokens = 0;
  outputTokens = 0;
  reasoningTokens = 0;
  /** US dollars, as far as it is known; null as long as nothing is. */
  costUsd: number | null = null;
  /** Not all of it is what providers say they billed. */
  isEstimate = false;
  /** Tokens in the window at the last call: its input and its output. */
  contextTokens = 0;

  /** Goes on behind what an earlier life of the run has counted. */
  constructor(counts: UsageCounts | null = null) {
    if (counts !== null) Object.assign(this, counts);
  }

  counts(): UsageCounts {
    const { model, inputTokens, outputTokens, reasoningTokens, costUsd, isEstimate, contextTokens } = this;
    return { model, inputTokens, outputTokens, reasoningTokens, costUsd, isEstimate, contextTokens };
  }

  add(model: string, usage: CompletionUsage): void {
    this.model = model;
    this.inputTokens += usage.inputTokens;
    this.outputTokens += usage.outputTokens;
    this.reasoningTokens += usage.reasoningTokens;
    if (usage.cost !== null) this.costUsd = (this.costUsd ?? 0) + usage.cost.usd;
    this.isEstimate ||= usage.cost?.source !== 'provider';
    this.contextTokens = usage.inputTokens + usage.outputTokens;
  }

  /** What another model cost that worked for the turn; nothing is added where nobody says. */
  spent(model: string, usd: number | null): void {
    this.model ??= model;
    if (usd !== null) this.costUsd = (this.costUsd ?? 0) + usd;
  }
}

type CostFields = Pick<DoneEvent, 'cost_estimate' | 'cost_currency' | 'cost_source' | 'pricing_snapshot'>;

/** What a turn cost, as the wire format has it; `price` is that of the model that answered. */
export function costFields({ costUsd, isEstimate }: UsageTotals, price: Price | null): CostFields {
  const isKnown = costUsd !== null;
  return {
    cost_estimate: costUsd,
    cost_currency: isKnown ? 'USD' : null,
    cost_source: isKnown ? (isEstimate ? 'estimate' : 'provider') : null,
    pricing_snapshot:
      price === null ? null : { cost_per_1k_input: price.inputPer1k, cost_per_1k_output: price.outputPer1k },
  };
}
