// Watcher: watches others from wherever it lives, and says what it was told.

import { actor, type Terminated } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol } from '../../src/supervisor/protocol.ts';

export const watcherProtocol = protocol('watcher', {
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
      watch: (address) => {
        unwatches.push(
          context.watch(address, (terminated) => {
            seen.push(terminated);
            first.resolve();
          }),
        );
        return true;
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
