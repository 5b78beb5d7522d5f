// CrossThreadAsk: what a question to an actor on an idle thread costs over a bare round trip through a port.

import { amount, type Contest, type Contestant, expectCount, latencies, type Size } from './harness.ts';
import { openRawThread } from './raw-thread.ts';
import { openThreadedSystem } from './threaded-system.ts';

const ASKS = 5_000;

export function question(size: Size): Contest[] {
  const row = (key: 'p50' | 'p99') => ({
    key,
    what: `cross-thread ask, one at a time, ${key}`,
    unit: 'µs',
    moreIsBetter: false,
    ratios: [{ to: 'bare round trip', target: 1.5 }],
  });
  return [{ rows: [row('p50'), row('p99')], contestants: [troupe(size), bareRoundTrip(size)] }];
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const { system, ref } = await openThreadedSystem();
      return {
        measure: () =>
          latencies(amount(ASKS, size), async (n) =>
            expectCount('answer', await ref.ask('increment', n), n + 1),
          ),
        close: () => system.stop(),
      };
    },
  };
}

function bareRoundTrip(size: Size): Contestant {
  return {
    name: 'bare round trip',
    open: async () => {
      const { ask, close } = await openRawThread();
      return {
        measure: () =>
          latencies(amount(ASKS, size), async (n) =>
            expectCount('answer', await ask({ kind: 'increment', n }), n + 1),
          ),
        close,
      };
    },
  };
}
