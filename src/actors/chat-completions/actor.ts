// ChatCompletions actor: takes the requests of OpenAI's clients, on the edge thread. A model's completion is made by the pool on
// the run-host threads (direct.ts), an agent's is a run. Holds nothing but the count of what is open (C5).

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { providers } from '../providers/protocol.ts';
import type { ChatRequest } from '../runs/protocol.ts';
import { usage } from '../usage/protocol.ts';
import { agentAnswer } from './agent-answer.ts';
import { answerInPieces, answerWhole } from './answering.ts';
import { apiTurn } from './expense.ts';
import { AGENT_DEFAULT, orderOf } from './order.ts';
import { withPictures } from './pictures.ts';
import {
  CALL_DEADLINE_MS,
  CALLS_OPEN_MAX,
  type ChatCompletion,
  type ChatCompletionRequest,
  type CompletionFrame,
  chatCompletionFaults,
  chatCompletions,
  type DirectOrder,
  directCompletions,
  MODELS_DEADLINE_MS,
} from './protocol.ts';

/** Whoever makes the answer keeps the deadline; this is for one that is lost. */
const ASK_DEADLINE_MS = CALL_DEADLINE_MS + 5_000;

export const chatCompletionsActor = actor({
  module: import.meta.url,
  exportName: 'chatCompletionsActor',
  protocol: chatCompletions,
  setup(context: ActorContext<typeof chatCompletions>) {
    let callsOpen = 0;
    context.exposeState(() => ({ callsOpen }));

    return {
      async complete(request, { signal }) {
        const id = enter();
        try {
          return await completed(id, request, signal);
        } finally {
          leave(id);
        }
      },

      async *stream(request, { signal }) {
        const id = enter();
        try {
          yield* await streamed(id, request, signal);
        } finally {
          leave(id);
        }
      },

      models: async () => ({ object: 'list', data: await listed() }),

      async model({ model }) {
        const entry = (await listed()).find(({ id }) => id === model);
        if (entry === undefined) throw chatCompletionFaults.model_unknown(`No such model: ${model}`);
        return entry;
      },
    };

    /** C5. The id of the completion. */
    function enter(): string {
      if (callsOpen >= CALLS_OPEN_MAX)
        throw chatCompletionFaults.completions_full(`${callsOpen} completions are under way already`);
      callsOpen += 1;
      return context.random.hex(24);
    }

    function leave(id: string): void {
      callsOpen -= 1;
      context.tell(usage, 'discard', apiTurn(id)); // What was reserved, not what is entered.
    }

    async function completed(
      id: string,
      request: ChatCompletionRequest,
      signal: AbortSignal,
    ): Promise<ChatCompletion> {
      const asked = orderOf(request);
      if (asked.kind === 'agent') return answerWhole(context, turnOf(id, request, asked.turn), signal);
      const options = { signal, deadlineMs: ASK_DEADLINE_MS };
      return context.ask(directCompletions, 'complete', await directOrder(id, asked.order, request), options);
    }

    async function streamed(
      id: string,
      request: ChatCompletionRequest,
      signal: AbortSignal,
    ): Promise<AsyncIterable<readonly CompletionFrame[]>> {
      const asked = orderOf(request);
      if (asked.kind === 'agent')
        return answerInPieces(context, turnOf(id, request, asked.turn), asked.wantsUsage, signal);
      const order = await directOrder(id, asked.order, request);
      return context.stream(directCompletions, 'stream', order, { signal });
    }

    async function directOrder(
      id: string,
      { request, ...order }: Omit<DirectOrder, 'id'>,
      { user_id }: ChatCompletionRequest,
    ): Promise<DirectOrder> {
      return { id, ...order, request: await withPictures(context, request, user_id) };
    }

    function turnOf(id: string, { user_id }: ChatCompletionRequest, turn: ChatRequest) {
      return { id, answer: (signal: AbortSignal) => agentAnswer(context, turn, user_id, signal) };
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
