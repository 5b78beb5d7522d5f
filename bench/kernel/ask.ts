// Ask: what a question and its answer cost on one thread, many under way and one after the other.

import { createActorSystem } from '../../src/supervisor/system.ts';
import {
  amount,
  type Contest,
  type Contestant,
  expectCount,
  latencies,
  type Readings,
  rate,
  type Size,
} from './harness.ts';
import { type Nact, type NactRef, peer } from './peers.ts';
import { counter } from './subjects.ts';

const ASKS = 200_000;
/** Asked before the first of them is answered. */
const WIDTH = 100;
const ASKS_SINGLE = 20_000;
const NACT_TIMEOUT_MS = 10_000;

export function question(size: Size): Contest[] {
  const contestants = [troupe(size), ...peer('nact', (nact) => nactActor(nact, size)), barePromise(size)];
  const ratios = [{ to: 'nact' }, { to: 'bare promise' }];
  return [
    {
      contestants,
      rows: [
        {
          key: 'rate',
          what: `local ask, ${WIDTH} under way`,
          unit: 'M/s',
          moreIsBetter: true,
          target: 1.5,
          ratios,
        },
        {
          key: 'p50',
          what: 'local ask, one at a time, p50',
          unit: 'µs',
          moreIsBetter: false,
          target: 1.5,
          ratios,
        },
        { key: 'p99', what: 'local ask, one at a time, p99', unit: 'µs', moreIsBetter: false, ratios },
      ],
    },
  ];
}

async function asks(size: Size, ask: (n: number) => Promise<number>): Promise<Readings> {
  const count = amount(ASKS, size);
  const checked = async (n: number): Promise<void> => expectCount('answer', await ask(n), n + 1);
  const perSecond = await rate(count, 1e6, async () => {
    for (let n = 0; n < count; n += WIDTH) {
      const answers = await Promise.all(Array.from({ length: WIDTH }, (_, i) => ask(n + i)));
      for (let i = 0; i < WIDTH; i += 1) if (answers[i] !== n + i + 1) throw new Error('a wrong answer');
    }
  });
  return { rate: perSecond, ...(await latencies(amount(ASKS_SINGLE, size), checked)) };
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem();
      const ref = system.spawn(counter, undefined, { id: 'counter' });
      return {
        measure: () => asks(size, (n) => ref.ask('increment', n)),
        close: () => system.stop(),
      };
    },
  };
}

function nactActor(nact: Nact, size: Size): Contestant {
  return {
    name: 'nact',
    open: async () => {
      const system = nact.start();
      const ref = nact.spawn(system, (_state, { n, sender }: { n: number; sender: NactRef }) =>
        nact.dispatch(sender, n + 1),
      );
      return {
        measure: () =>
          asks(size, (n) => nact.query<number>(ref, (sender) => ({ n, sender }), NACT_TIMEOUT_MS)),
        close: async () => nact.stop(system),
      };
    },
  };
}

/** The least that an answer can cost: a promise that is resolved one microtask later. */
function barePromise(size: Size): Contestant {
  return {
    name: 'bare promise',
    open: async () => ({
      measure: () =>
        asks(
          size,
          (n) =>
            new Promise((resolve) => {
              queueMicrotask(() => resolve(n + 1));
            }),
        ),
      close: async () => undefined,
    }),
  };
}
