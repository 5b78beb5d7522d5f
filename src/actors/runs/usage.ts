// Usage: what the model calls of one turn used, added up. Estimated where a provider does not report it. A call that a lost
// actor had under way is not in it: nobody knows what it used.

import type { CompletionUsage } from '../providers/protocol.ts';

/** The totals as plain data. */
export type UsageCounts = Pick<
  UsageTotals,
  'inputTokens' | 'outputTokens' | 'reasoningTokens' | 'costUsd' | 'contextTokens'
>;

export class UsageTotals {
  inputTokens = 0;
  outputTokens = 0;
  reasoningTokens = 0;
  /** US dollars that the provider says it billed; null as long as it has said nothing. */
  costUsd: number | null = null;
  /** Tokens in the window at the last call: its input and its output. */
  contextTokens = 0;

  /** Goes on behind what an earlier life of the run has counted. */
  constructor(counts: UsageCounts | null = null) {
    if (counts !== null) Object.assign(this, counts);
  }

  counts(): UsageCounts {
    const { inputTokens, outputTokens, reasoningTokens, costUsd, contextTokens } = this;
    return { inputTokens, outputTokens, reasoningTokens, costUsd, contextTokens };
  }

  add(usage: CompletionUsage): void {
    this.inputTokens += usage.inputTokens;
    this.outputTokens += usage.outputTokens;
    this.reasoningTokens += usage.reasoningTokens;
    if (usage.costUsd !== null) this.costUsd = (this.costUsd ?? 0) + usage.costUsd;
    this.contextTokens = usage.inputTokens + usage.outputTokens;
  }
}
