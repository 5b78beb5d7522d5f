// TurnBudget: asks leave for the model calls of one turn, as far as there is a budget.
// A1 The first call of a turn asks nobody when the settings that the turn has just read set no budget; each later one does:
//    a budget that was set meanwhile holds for it.

import type { Settings } from '../config/protocol.ts';
import type { CompletionRequest } from '../providers/protocol.ts';
import { expectedUsd, usage } from '../usage/protocol.ts';
import { turnKey } from './ledger.ts';
import { patiently } from './patience.ts';
import type { TurnScope } from './turn-scope.ts';

export class TurnBudget {
  #isAsked: boolean;

  constructor(settings: Settings) {
    this.#isAsked = settings['budgets.daily_usd'] !== null || settings['budgets.per_run_usd'] !== null;
  }

  /** @throws budget_exceeded */
  async admit(
    { context, order, usage: used, signal }: TurnScope,
    request: Pick<CompletionRequest, 'price' | 'maxOutputTokens'>,
    inputTokens: number,
  ): Promise<void> {
    const isAsked = this.#isAsked;
    this.#isAsked = true; // A1
    if (!isAsked) return;
    const call = {
      ...turnKey(order.run_id),
      spentUsd: used.costUsd ?? 0,
      expectedUsd: expectedUsd(request.price, inputTokens, request.maxOutputTokens),
    };
    await patiently(context, () => context.ask(usage, 'admit', call, { signal }));
  }
}
