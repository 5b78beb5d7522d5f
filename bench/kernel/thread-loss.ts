// ThreadLoss: from the moment a worker thread is killed to the first answer of the actor that lived on it, now on another
// thread: one that waits warm, or one that has to be started.

import { isFault } from '../../src/std/errors.ts';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { type Contest, type Contestant, expectCount, loopTurn, percentiles, type Size } from './harness.ts';
import { counter, counterProtocol } from './subjects.ts';

const LOSSES = 12;
const LOSSES_QUICK = 2;

export function question(size: Size): Contest[] {
  return [contest('warm spare', true, 50, size), contest('cold start', false, 250, size)];
}

function contest(how: string, spare: boolean, target: number, size: Size): Contest {
  const losses = size.isQuick ? LOSSES_QUICK : LOSSES;
  const what = `dead thread to its actor answering, ${how}`;
  return {
    rows: [
      { key: 'p50', what: `${what}, p50`, unit: 'ms', moreIsBetter: false },
      // Of so few, the nearest rank of the 99th percentile is the worst.
      { key: 'p99', what: `${what}, worst of ${losses}`, unit: 'ms', moreIsBetter: false, target },
    ],
    contestants: [troupe(spare, losses)],
  };
}

function troupe(spare: boolean, losses: number): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem({
        threads: { spare },
        supervision: {
          intensity: { restartsMax: Number.POSITIVE_INFINITY, withinMs: 0 },
          backoff: { initialMs: 0, maxMs: 0 },
        },
      });
      const placement = { thread: 'bench' } as const;
      system.spawn(counter, undefined, { id: 'counter', name: true, placement });
      const ref = system.named(counterProtocol);
      const ask = async (n: number): Promise<number> => {
        for (;;) {
          try {
            return await ref.ask('increment', n);
          } catch (error) {
            if (!isFault(error) || !error.retryable) throw error;
            await loopTurn();
          }
        }
      };
      const lose = async (): Promise<number> => {
        await ask(0);
        while (spare && !system.threads().some(({ name, state }) => name === null && state === 'ready')) {
          await loopTurn();
        }
        const host = system.threads().find(({ name }) => name === placement.thread);
        if (host === undefined) throw new Error('the actor has no thread');
        const startedMs = performance.now();
        const killed = system.terminateThread(host.thread);
        expectCount('answer', await ask(1), 2);
        const elapsedMs = performance.now() - startedMs;
        await killed;
        return elapsedMs;
      };
      return {
        measure: async () => {
          const samples = new Float64Array(losses);
          for (let i = 0; i < losses; i += 1) samples[i] = await lose();
          return percentiles(samples);
        },
        close: () => system.stop(),
      };
    },
  };
}
