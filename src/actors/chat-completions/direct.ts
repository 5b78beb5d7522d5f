// Direct: makes direct completions, on a run-host thread, with a model client of its own: what a client of the API streams is
// read, decoded and worded there, and the edge thread gets the bytes of its events.

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { loadBehaviour } from '../../supervisor/threads/load-behaviour.ts';
import { answerInPieces, answerWhole } from './answering.ts';
import { modelAnswer } from './model-answer.ts';
import { type DirectOrder, directCompletions } from './protocol.ts';

export interface DirectArguments {
  /** The model client's behaviour, by module and name: its folder is not ours to import. */
  readonly completions: { readonly module: string; readonly exportName: string };
}

export const directCompletionsActor = actor({
  module: import.meta.url,
  exportName: 'directCompletionsActor',
  protocol: directCompletions,
  setup: async (
    context: ActorContext<typeof directCompletions>,
    { completions: { module, exportName } }: DirectArguments,
  ) => {
    const behaviour = await loadBehaviour(module, exportName);
    const client = context.spawn(behaviour, undefined, { id: 'completions', restart: 'permanent' });
    const answering = (order: DirectOrder) => ({
      id: order.id,
      answer: (signal: AbortSignal) => modelAnswer(context, client, order, signal),
    });

    return {
      complete: (order, { signal }) => answerWhole(context, answering(order), signal),
      stream: (order, { signal }) => {
        // Until it is over: a drain, as of a thread that is left, waits for what is held, and for no other stream.
        signal.addEventListener('abort', context.hold(), { once: true });
        return answerInPieces(context, answering(order), order.wantsUsage, signal);
      },
    };
  },
});
