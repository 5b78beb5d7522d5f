// Usage: what the model calls of one turn used, added up. Estimated where a provider does not report it.

import type { CompletionUsage } from '../providers/protocol.ts';

export class UsageTotals {
  inputTokens = 0;
  outputTokens = 0;
  reasoningTokens = 0;
  /** US dollars that the provider says it billed; null as long as it has said nothing. */
  costUsd: number | null = null;
  /** Tokens in the window at the last call: its input and its output. */
  contextTokens = 0;

  add(usage: CompletionUsage): void {
    this.inputTokens += usage.inputTokens;
    this.outputTokens += usage.outputTokens;
    this.reasoningTokens += usage.reasoningTokens;
    if (usage.costUsd !== null) this.costUsd = (this.costUsd ?? 0) + usage.costUsd;
    this.contextTokens = usage.inputTokens + usage.outputTokens;
  }
}
