// Crash: from telling an actor what crashes it to the first answer of its successor, without backoff.
// In Troupe the successor is a new incarnation that is found by name: it has lost its mail and its state. nact resets the
// actor in place and keeps its mail.

import { isFault } from '../../src/std/errors.ts';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { amount, type Contest, type Contestant, expectCount, latencies, type Size } from './harness.ts';
import { type Nact, type NactRef, peer } from './peers.ts';
import { counter, counterProtocol } from './subjects.ts';

const CRASHES = 5_000;
const NACT_TIMEOUT_MS = 10_000;

export function question(size: Size): Contest[] {
  const ratios = [{ to: 'nact' }];
  const row = (key: 'p50' | 'p99', target: number) => ({
    key,
    what: `crash, restart, first answer, ${key}`,
    unit: 'µs',
    moreIsBetter: false,
    target,
    ratios,
  });
  return [
    {
      rows: [row('p50', 5), row('p99', 30)],
      contestants: [troupe(size), ...peer('nact', (nact) => nactActor(nact, size))],
    },
  ];
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem({
        supervision: {
          intensity: { restartsMax: Number.POSITIVE_INFINITY, withinMs: 0 },
          backoff: { initialMs: 0, maxMs: 0 },
        },
      });
      system.spawn(counter, undefined, { id: 'counter', name: true });
      const ref = system.named(counterProtocol);
      /** Asks again while there is nobody: a fault that says so may be retried. */
      const ask = async (n: number): Promise<number> => {
        for (;;) {
          try {
            return await ref.ask('increment', n);
          } catch (error) {
            if (!isFault(error) || !error.retryable) throw error;
          }
        }
      };
      return {
        measure: () =>
          latencies(amount(CRASHES, size), async (n) => {
            ref.tell('crash', null);
            expectCount('answer', await ask(n), n + 1);
          }),
        close: () => system.stop(),
      };
    },
  };
}

function nactActor(nact: Nact, size: Size): Contestant {
  type Message = { readonly n: number; readonly sender: NactRef } | { readonly crash: true };
  return {
    name: 'nact',
    open: async () => {
      const system = nact.start();
      const handle = (_state: unknown, message: Message): void => {
        if ('crash' in message) throw new Error('crashed as told');
        nact.dispatch(message.sender, message.n + 1);
      };
      const ref = nact.spawn(system, handle, 'counter', {
        onCrash: (_message, _error, context) => context.reset,
      });
      return {
        measure: () =>
          latencies(amount(CRASHES, size), async (n) => {
            nact.dispatch(ref, { crash: true });
            const answer = await nact.query<number>(ref, (sender) => ({ n, sender }), NACT_TIMEOUT_MS);
            expectCount('answer', answer, n + 1);
          }),
        close: async () => nact.stop(system),
      };
    },
  };
}
