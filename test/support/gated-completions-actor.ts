// GatedCompletions: a model client whose answer stops in the middle until a gate is opened. Importable by name.

import { type CompletionDelta, completions } from '../../src/actors/providers/protocol.ts';
import { type ActorContext, actor, type Handlers } from '../../src/supervisor/actor.ts';
import type { Address } from '../../src/supervisor/protocol.ts';
import { gateProtocol } from './gate.ts';

export const gatedCompletionsActor = actor({
  module: import.meta.url,
  exportName: 'gatedCompletionsActor',
  protocol: completions,
  setup: (context: ActorContext<typeof completions>): Handlers<typeof completions> => ({
    async *complete(request): AsyncGenerator<readonly CompletionDelta[], void, undefined> {
      // Beside what a request has.
      const { gate } = request as unknown as { readonly gate: Address };
      yield [{ kind: 'text', text: 'So far' }];
      await context.refTo(gateProtocol, gate).ask('pass', context.path, { deadlineMs: 60_000 });
      yield [{ kind: 'text', text: ' and on.' }];
      yield [{ kind: 'finish', reason: 'stop', usage: null }];
    },
    transcribe: () => {
      throw new Error('nothing is transcribed here');
    },
  }),
});
