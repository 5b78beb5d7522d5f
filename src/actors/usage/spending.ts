// Spending: whether a budget allows one more call of a model. Pure bookkeeping, and the same time however many turns there are.
// B1 A call is refused when the budget is used up, or would be by what the call is expected to cost.
// B2 A turn counts with what it has spent and what its latest call has reserved, until it is entered in the ledger. That it
//    goes on, in this life or in another one, replaces what it counted before.

import type { TurnKey } from './protocol.ts';

/** In US dollars; null is no limit. */
export interface Budgets {
  readonly dailyUsd: number | null;
  readonly perRunUsd: number | null;
}

export interface NextCall extends TurnKey {
  readonly spentUsd: number;
  readonly expectedUsd: number | null;
}

export class Spending {
  /** What each turn under way counts for. */
  readonly #open = new Map<string, number>();
  #openUsd = 0;

  /** Reserves what the call may cost; or says why it may not be made. `enteredUsd`: what the ledger has of today. */
  admit(budgets: Budgets, enteredUsd: number, next: NextCall): string | null {
    this.close(next);
    const { spentUsd, expectedUsd } = next;
    const ofDay = { spentUsd: enteredUsd + this.#openUsd + spentUsd, expectedUsd };
    const refusal =
      refusalOf('one turn', budgets.perRunUsd, next) ?? refusalOf('the day', budgets.dailyUsd, ofDay);
    // One that is refused has spent what it has spent, until it is entered.
    const usd = spentUsd + (refusal === null ? (expectedUsd ?? 0) : 0);
    this.#open.set(nameOf(next), usd);
    this.#openUsd += usd;
    return refusal;
  }

  /** The turn is over: what it cost is in the ledger. */
  close(turn: TurnKey): void {
    const name = nameOf(turn);
    const usd = this.#open.get(name);
    if (usd === undefined) return;
    this.#open.delete(name);
    // A sum of fractions keeps a remainder that means nothing.
    this.#openUsd = this.#open.size === 0 ? 0 : this.#openUsd - usd;
  }
}

/** B1. */
function refusalOf(
  of: string,
  budgetUsd: number | null,
  { spentUsd, expectedUsd }: Pick<NextCall, 'spentUsd' | 'expectedUsd'>,
): string | null {
  if (budgetUsd === null) return null;
  const budget = `The budget of ${of}, ${dollars(budgetUsd)},`;
  if (spentUsd >= budgetUsd) return `${budget} is used up`;
  if (spentUsd + (expectedUsd ?? 0) <= budgetUsd) return null;
  return `${budget} has no room for this call: ${dollars(spentUsd)} are spent or reserved, and it may cost ${dollars(expectedUsd ?? 0)}`;
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

function nameOf({ turn_id, source }: TurnKey): string {
  return `${source} ${turn_id}`;
}
