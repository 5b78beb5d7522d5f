// The chat-completions adapter over a connection that the test plays: what comes when is decided here.

import { expect, test } from 'vitest';
import { completeWithOpenai } from '../../../src/actors/providers/openai-adapter.ts';
import type { CompletionRequest } from '../../../src/actors/providers/protocol.ts';
import { NO_MEDIA } from '../../../src/actors/providers/request-media.ts';
import type { EventStream, Transport } from '../../../src/actors/providers/transport.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { collect } from './model-calls.ts';

const REQUEST: CompletionRequest = {
  connection: {
    provider: 'openai',
    kind: 'openai_compatible',
    baseUrl: 'http://127.0.0.1/v1',
    apiKey: null,
    headers: {},
    timeoutMs: 5_000,
    retriesMax: 0,
    egress: 'any',
  },
  modelId: 'double-1',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxOutputTokens: null,
};

/** A paused connection that goes on when it is read: each batch comes in during the taking of the one before it. */
function heldBack(...batches: readonly (readonly string[])[]): Transport {
  return {
    post(_connection, _path, _headers, _body, onArrived): EventStream {
      let taken = 0;
      let come = 1;
      return {
        take() {
          if (taken === batches.length) return null;
          if (taken === come) return [];
          const batch = batches[taken] ?? [];
          taken += 1;
          if (come < batches.length) {
            come += 1;
            onArrived();
          }
          return batch;
        },
        leave: () => undefined,
        close: () => undefined,
      };
    },
    fetch: () => globalThis.fetch,
    close: async () => undefined,
  };
}

const chunk = (delta: object, finish_reason: string | null = null): string =>
  JSON.stringify({ choices: [{ delta, finish_reason }] });
const fragment = (args: string): string =>
  chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'write', arguments: args } }] });

test('an answer whose end comes in while a part without text is read does end', async () => {
  const transport = heldBack([fragment('{"text":')], [fragment('"y"}')], [chunk({}, 'tool_calls'), '[DONE]']);
  const tools = { transport, clock: systemClock, random: seededRandom(1), media: NO_MEDIA };
  const answer = await collect(completeWithOpenai(REQUEST, tools, new AbortController().signal));
  expect(answer).toMatchObject({ finish: 'tool_calls', calls: [{ arguments: { text: 'y' } }] });
});
