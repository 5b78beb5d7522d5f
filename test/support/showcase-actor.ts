// Showcase: exposes its state, and says what becomes of it when it looks at the system.

import { errorText } from '../../src/std/errors.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';

export const showcaseProtocol = protocol('showcase', {
  put: tell<{ readonly key: string; readonly value: string }>(),
  /** From now on it exposes something that cannot be read. */
  expose: tell<'a function' | 'a failure'>(),
  whereabouts: call<Record<string, never>, Address>(),
  lookAround: call<Record<string, never>, string>(),
});

export const showcaseActor = actor({
  module: import.meta.url,
  exportName: 'showcaseActor',
  protocol: showcaseProtocol,
  setup: (context) => {
    const shelf: Record<string, string> = {};
    context.exposeState(() => ({ shelf }));
    return {
      put: ({ key, value }) => {
        shelf[key] = value;
      },
      expose: (what) =>
        context.exposeState(() => {
          if (what === 'a function') return { shelf: () => shelf };
          throw new Error('nothing to see');
        }),
      whereabouts: () => context.address,
      lookAround: async () => {
        try {
          return JSON.stringify(await context.introspection.snapshot());
        } catch (error) {
          return errorText(error);
        }
      },
    };
  },
});
