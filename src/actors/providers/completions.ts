// Completions: the actor that asks models, one on each run host, so that no model stream passes through the edge thread.
// It keeps connections, not state. Retries, waits and fallbacks are the run's, where they are seen and can be cancelled.

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Adapter, AdapterTools } from './adapter.ts';
import { createAnthropicAdapter } from './anthropic-adapter.ts';
import { completeOffline } from './offline-responder.ts';
import { completeWithOpenai } from './openai-adapter.ts';
import { type CompletionDelta, type CompletionRequest, completions, type ProviderKind } from './protocol.ts';
import { findMedia, hasMedia, NO_MEDIA } from './request-media.ts';
import { transcribe } from './transcription.ts';
import { openTransport } from './transport.ts';

import '../services.ts';

export const completionsActor = actor({
  module: import.meta.url,
  exportName: 'completionsActor',
  protocol: completions,
  setup(context: ActorContext<typeof completions>) {
    const transport = openTransport();
    context.onStop(() => transport.close());
    const { clock, random, services } = context;
    const tools: AdapterTools = { transport, clock, random, media: NO_MEDIA };
    const adapters: Readonly<Record<ProviderKind, Adapter>> = {
      openai_compatible: completeWithOpenai,
      openrouter: completeWithOpenai,
      vercel: completeWithOpenai,
      lmstudio: completeWithOpenai,
      anthropic: createAnthropicAdapter(),
      offline: completeOffline,
    };

    return {
      complete: (request, { signal }) =>
        hasMedia(request) ? completeWithMedia(request, signal) : adapterFor(request)(request, tools, signal),
      transcribe: (request, { signal }) => transcribe(request, services.storage.blobs, tools, signal),
    };

    function adapterFor({ connection }: CompletionRequest): Adapter {
      return adapters[connection.kind];
    }

    async function* completeWithMedia(
      request: CompletionRequest,
      signal: AbortSignal,
    ): AsyncGenerator<readonly CompletionDelta[], void, undefined> {
      const media = await findMedia(request.media ?? {}, services.storage.blobs, random);
      yield* adapterFor(request)(request, { ...tools, media }, signal);
    }
  },
});
