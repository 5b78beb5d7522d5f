// Watcher: watches others from wherever it lives, and says what it was told.

import { actor, type Terminated } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol } from '../../src/supervisor/protocol.ts';
import { counterProtocol } from './counter-actor.ts';

export const watcherProtocol = protocol('watcher', {
  /** Answers when the watch has arrived at the target, a counter. */
  watch: call<Address, true>(),
  unwatch: call<Record<string, never>, true>(),
  /** Answers as soon as there is something, everything so far. */
  seen: call<Record<string, never>, readonly Terminated[]>(),
  seenSoFar: call<Record<string, never>, readonly Terminated[]>(),
});

export const watcherActor = actor({
  module: import.meta.url,
  exportName: 'watcherActor',
  protocol: watcherProtocol,
  setup: (context) => {
    const seen: Terminated[] = [];
    const first = Promise.withResolvers<void>();
    const unwatches: (() => void)[] = [];
    return {
      watch: async (address) => {
        unwatches.push(
          context.watch(address, (terminated) => {
            seen.push(terminated);
            first.resolve();
          }),
        );
        // Mail to the target goes the same way as the watch: its answer says that the watch has arrived.
        await context
          .refTo(counterProtocol, address)
          .ask('whereabouts', {})
          .catch(() => undefined);
        return true as const;
      },
      unwatch: () => {
        for (const unwatch of unwatches) unwatch();
        return true;
      },
      seen: async () => {
        await first.promise;
        return seen;
      },
      seenSoFar: () => seen,
    };
  },
});
