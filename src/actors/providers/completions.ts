// Completions: the actor that asks models, one on each run host, so that no model stream passes through the edge thread.
// It keeps connections, not state. Retries, waits and fallbacks are the run's, where they are seen and can be cancelled.

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Adapter } from './adapter.ts';
import { createAnthropicAdapter } from './anthropic-adapter.ts';
import { completeOffline } from './offline-responder.ts';
import { completeWithOpenai } from './openai-adapter.ts';
import { completions, type ProviderKind } from './protocol.ts';
import { openTransport } from './transport.ts';

export const completionsActor = actor({
  module: import.meta.url,
  exportName: 'completionsActor',
  protocol: completions,
  setup(context: ActorContext<typeof completions>) {
    const transport = openTransport();
    context.onStop(() => transport.close());
    const tools = { transport, clock: context.clock, random: context.random };
    const adapters: Readonly<Record<ProviderKind, Adapter>> = {
      openai_compatible: completeWithOpenai,
      openrouter: completeWithOpenai,
      vercel: completeWithOpenai,
      lmstudio: completeWithOpenai,
      anthropic: createAnthropicAdapter(),
      offline: completeOffline,
    };

    return {
      complete: (request, inquiry) => adapters[request.connection.kind](request, tools, inquiry.signal),
    };
  },
});
