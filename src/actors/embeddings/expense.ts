// Expense: what an order to a remote engine is to the usage ledger: a turn of its own, from the source `embeddings`.
// E1 A provider is asked with leave only. What was reserved is given up whatever becomes of the order: here, or by the
//    dispatcher when this thread is lost.
// E2 What was used is entered, also of an order that failed half-way; estimated where the provider does not report it. Vectors
//    that are there are not lost because they cannot be counted.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Price } from '../providers/protocol.ts';
import { expectedUsd, type TurnKey, usage } from '../usage/protocol.ts';
import { embeddingFaults } from './protocol.ts';

export class Expense {
  readonly #context: ActorContext;
  readonly #turn: TurnKey;
  readonly #model: string;
  readonly #price: Price | null;
  readonly #sinceMs: number;
  #tokens = 0;
  /** Null when the cost of a request is not known. */
  #costUsd: number | null = 0;

  constructor(context: ActorContext, orderId: string, model: string, price: Price | null) {
    this.#context = context;
    this.#turn = embeddingTurn(orderId);
    this.#model = model;
    this.#price = price;
    this.#sinceMs = context.clock.monotonicMs();
  }

  /** E1. @throws embedding_over_budget */
  async admitted(expectedTokens: number): Promise<void> {
    const expected = expectedUsd(this.#price, expectedTokens, 0);
    try {
      await this.#context.ask(usage, 'admit', { ...this.#turn, spentUsd: 0, expectedUsd: expected });
    } catch (error) {
      // A budget is no fault of the texts: they are worked on when there is one again.
      if (isFault(error) && error.code === 'budget_exceeded')
        throw embeddingFaults.embedding_over_budget(error.message);
      throw error;
    }
  }

  saw(tokens: number, billedUsd: number | null): void {
    const usd = billedUsd ?? (this.#price && (tokens * this.#price.inputPer1k) / 1_000);
    this.#tokens += tokens;
    this.#costUsd = usd === null || this.#costUsd === null ? null : this.#costUsd + usd;
  }

  /** E2. */
  async settled(): Promise<void> {
    const { log, clock } = this.#context;
    if (this.#tokens === 0) return this.#discard();
    try {
      await this.#context.ask(usage, 'record', {
        ...this.#turn,
        model: this.#model,
        agent_id: null,
        inputTokens: this.#tokens,
        outputTokens: 0,
        costUsd: this.#costUsd,
        latencyMs: clock.monotonicMs() - this.#sinceMs,
      });
    } catch (error) {
      if (!isFault(error)) throw error;
      this.#discard();
      log.error(
        { order: this.#turn.turn_id, error: error.message },
        'the usage of embeddings is not entered',
      );
    }
  }

  #discard(): void {
    this.#context.tell(usage, 'discard', this.#turn);
  }
}

export function embeddingTurn(orderId: string): TurnKey {
  return { turn_id: orderId, source: 'embeddings' };
}
