// Expense: what one direct completion is to the usage ledger: a turn of its own, from the source `api`.
// E1 A model is asked with leave only, and what was reserved is given up whatever becomes of the call: here, or by the edge's
//    actor when this thread is lost. So leave is waited for also when the client has left: it would come behind the giving up.
// E2 What was said is entered before the answer ends, also of one that was cut or left; estimated where nobody reported it.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { CompletionDelta, CompletionUsage, ModelRoute } from '../providers/protocol.ts';
import { expectedUsd, type TurnKey, usage } from '../usage/protocol.ts';
import type { DirectOrder } from './protocol.ts';

/** The rule of thumb where no tokenizer is at hand. */
const CHARS_PER_TOKEN = 4;

export class Expense {
  readonly #context: ActorContext;
  readonly #order: DirectOrder;
  readonly #route: ModelRoute;
  readonly #sinceMs: number;
  #charsWritten = 0;
  #reported: CompletionUsage | null = null;

  constructor(context: ActorContext, order: DirectOrder, route: ModelRoute) {
    this.#context = context;
    this.#order = order;
    this.#route = route;
    this.#sinceMs = context.clock.monotonicMs();
  }

  /** E1. @throws budget_exceeded */
  async admitted(): Promise<void> {
    const { id, request } = this.#order;
    const expected = expectedUsd(this.#route.price, this.#inputTokens(), request.maxOutputTokens);
    const call = { ...apiTurn(id), spentUsd: 0, expectedUsd: expected };
    await this.#context.ask(usage, 'admit', call);
  }

  saw(deltas: readonly CompletionDelta[]): void {
    for (const delta of deltas) {
      if (delta.kind === 'text') this.#charsWritten += delta.text.length;
      else if (delta.kind === 'finish') this.#reported = delta.usage;
      else for (const { argumentsText } of delta.calls) this.#charsWritten += argumentsText.length;
    }
  }

  /** E2. An answer does not fail because it cannot be counted. */
  async settled(): Promise<void> {
    if (this.#reported === null && this.#charsWritten === 0) return this.#discard();
    const { clock, log } = this.#context;
    const turn = {
      ...apiTurn(this.#order.id),
      model: this.#route.modelId,
      agent_id: null,
      inputTokens: this.#reported?.inputTokens ?? this.#inputTokens(),
      outputTokens: this.#reported?.outputTokens ?? Math.ceil(this.#charsWritten / CHARS_PER_TOKEN),
      costUsd: this.#reported?.cost?.usd ?? null,
      latencyMs: clock.monotonicMs() - this.#sinceMs,
    };
    try {
      await this.#context.ask(usage, 'record', turn);
    } catch (error) {
      if (!isFault(error)) throw error;
      this.#discard();
      log.error(
        { completion: turn.turn_id, error: error.message },
        'the usage of a completion is not entered',
      );
    }
  }

  #discard(): void {
    this.#context.tell(usage, 'discard', apiTurn(this.#order.id));
  }

  #inputTokens(): number {
    const { messages } = this.#order.request;
    const chars = messages.reduce((sum, { content }) => sum + content.length, 0);
    return Math.ceil(chars / CHARS_PER_TOKEN);
  }
}

export function apiTurn(id: string): TurnKey {
  return { turn_id: id, source: 'api' };
}
