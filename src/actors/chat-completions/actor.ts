// ChatCompletions actor: takes the requests of OpenAI's clients, on the edge thread. A model's completion is made by the pool on
// the run-host threads (direct.ts), an agent's is a run. Holds nothing but the count of what is open (C5).

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { providers } from '../providers/protocol.ts';
import { agentAnswer } from './agent-answer.ts';
import { answerInPieces, answerWhole } from './answering.ts';
import { AGENT_DEFAULT, orderOf } from './order.ts';
import {
  CALL_DEADLINE_MS,
  CALLS_OPEN_MAX,
  type ChatCompletion,
  type ChatCompletionRequest,
  type CompletionFrame,
  chatCompletionFaults,
  chatCompletions,
  directCompletions,
  MODELS_DEADLINE_MS,
} from './protocol.ts';

/** Whoever makes the answer keeps the deadline; this is for one that is lost. */
const ASK_DEADLINE_MS = CALL_DEADLINE_MS + 5_000;

export interface ChatCompletionsArguments {
  readonly callsOpenMax?: number;
}

export const chatCompletionsActor = actor({
  module: import.meta.url,
  exportName: 'chatCompletionsActor',
  protocol: chatCompletions,
  setup(
    context: ActorContext<typeof chatCompletions>,
    { callsOpenMax = CALLS_OPEN_MAX }: ChatCompletionsArguments,
  ) {
    let callsOpen = 0;
    context.exposeState(() => ({ callsOpen }));

    return {
      async complete(request, { signal }) {
        enter();
        try {
          return await completed(request, signal);
        } finally {
          callsOpen -= 1;
        }
      },

      async *stream(request, { signal }) {
        enter();
        try {
          yield* streamed(request, signal);
        } finally {
          callsOpen -= 1;
        }
      },

      models: async () => ({ object: 'list', data: await listed() }),

      async model({ model }) {
        const entry = (await listed()).find(({ id }) => id === model);
        if (entry === undefined) throw chatCompletionFaults.model_unknown(`No such model: ${model}`);
        return entry;
      },
    };

    /** C5. */
    function enter(): void {
      if (callsOpen >= callsOpenMax)
        throw chatCompletionFaults.completions_full(`${callsOpen} completions are under way already`);
      callsOpen += 1;
    }

    function completed(request: ChatCompletionRequest, signal: AbortSignal): Promise<ChatCompletion> {
      const asked = orderOf(request);
      if (asked.kind === 'direct') {
        const options = { signal, deadlineMs: ASK_DEADLINE_MS };
        return context.ask(directCompletions, 'complete', asked.order, options);
      }
      const { turn } = asked;
      return answerWhole(context, (inTime) => agentAnswer(context, turn, request.user_id, inTime), signal);
    }

    function streamed(
      request: ChatCompletionRequest,
      signal: AbortSignal,
    ): AsyncIterable<readonly CompletionFrame[]> {
      const asked = orderOf(request);
      if (asked.kind === 'direct')
        return context.stream(directCompletions, 'stream', asked.order, { signal });
      const { turn, wantsUsage } = asked;
      return answerInPieces(
        context,
        (inTime) => agentAnswer(context, turn, request.user_id, inTime),
        wantsUsage,
        signal,
      );
    }

    async function listed() {
      const { models } = await context.ask(providers, 'models', {}, { deadlineMs: MODELS_DEADLINE_MS });
      return [entryOf(AGENT_DEFAULT, 'troupe'), ...models.map(({ id, provider }) => entryOf(id, provider))];
    }
  },
});

/** Nobody knows when most of them were made; the API wants a number. */
function entryOf(id: string, owned_by: string) {
  return { id, object: 'model', created: 0, owned_by };
}
