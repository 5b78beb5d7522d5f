// ModelAnswer: the answer to a direct completion: its route, its model, and the next one of the chain when a provider fails.
// A1 The plan, the faults that are worth another provider and what is learnt of its health are those of a turn. But nothing is
//    waited for and no provider is asked twice: clients of this API wait and repeat by themselves, as told by Retry-After.
// A2 Once a delta was handed out the answer is that model's, and so is its failure.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import {
  type CompletionDelta,
  type completions,
  FALLBACKS_MAX,
  isPassing,
  type ModelRoute,
  providers,
  RESOLVE_DEADLINE_MS,
} from '../providers/protocol.ts';
import { Expense } from './expense.ts';
import { chatCompletionFaults, type DirectOrder } from './protocol.ts';

export interface AnswerPart {
  /** `provider:model`, of the one that answers. */
  readonly model: string;
  readonly deltas: readonly CompletionDelta[];
}

/** @throws Fault of the provider, or of finding one. Just ends when the signal is aborted. */
export async function* modelAnswer(
  context: ActorContext,
  client: Ref<typeof completions>,
  order: DirectOrder,
  signal: AbortSignal,
): AsyncGenerator<AnswerPart, void, undefined> {
  const { model, request } = order;
  const failedProviders: string[] = [];
  let failure: unknown;
  for (;;) {
    const hasMedia = request.media !== undefined;
    const question = { model, failedProviders, hasMedia };
    let route: ModelRoute;
    try {
      route = await context.ask(providers, 'resolve', question, { signal, deadlineMs: RESOLVE_DEADLINE_MS });
    } catch (error) {
      throw failure ?? error; // What there is no other provider for is the last one's failure.
    }
    const { reference, modelId, price, connection } = route;
    const { provider, baseUrl } = connection;
    if (request.tools.length > 0 && !route.supportsTools)
      throw failure ?? chatCompletionFaults.completion_refused(`${reference} calls no tools`);
    if (hasMedia && !route.supportsVision)
      throw failure ?? chatCompletionFaults.completion_refused(`${reference} sees no images`);
    const expense = new Expense(context, order, route);
    let hasBegun = false;
    try {
      await expense.admitted();
      if (signal.aborted) return;
      const call = { ...request, connection, modelId, price };
      for await (const deltas of client.stream('complete', call, { signal })) {
        hasBegun = true;
        expense.saw(deltas);
        yield { model: reference, deltas };
      }
      if (!signal.aborted) context.tell(providers, 'met', { provider, baseUrl, healthy: true });
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) throw error;
      const { message, retryAfterMs } = error;
      context.tell(providers, 'met', { provider, baseUrl, healthy: false, error: message, retryAfterMs });
      failedProviders.push(provider);
      if (hasBegun || failedProviders.length > FALLBACKS_MAX) throw error; // A2
      failure = error;
    } finally {
      await expense.settled();
    }
  }
}
