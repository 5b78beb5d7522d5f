// Pool: small tasks for one worker thread, WIDTH of them under way at any time. Troupe has no pool of its own yet: what is
// measured is an actor on a thread that is asked, which is what a pool over actors would do for each task.

import {
  amount,
  type Contest,
  type Contestant,
  expectCount,
  type Readings,
  rate,
  type Size,
} from './harness.ts';
import { type PiscinaClass, peer } from './peers.ts';
import { openThreadedSystem } from './threaded-system.ts';

const TASKS = 100_000;
const WIDTH = 256;

export function question(size: Size): Contest[] {
  return [
    {
      rows: [
        {
          key: 'rate',
          what: `pool task, one worker, ${WIDTH} under way`,
          unit: 'k/s',
          moreIsBetter: true,
          ratios: [
            { to: 'piscina', target: 1.5 },
            { to: `piscina, ${WIDTH} at once`, target: 1.5 },
          ],
        },
      ],
      contestants: [
        troupe(size),
        ...peer('piscina', (Piscina) => piscina(Piscina, size, 'piscina', 1)),
        ...peer('piscina', (Piscina) => piscina(Piscina, size, `piscina, ${WIDTH} at once`, WIDTH)),
      ],
    },
  ];
}

/** Each of WIDTH lanes gives its next task when it has the result of the last. */
async function tasks(size: Size, run: (n: number) => Promise<unknown>): Promise<Readings> {
  const count = amount(TASKS, size);
  let begun = 0;
  let done = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const n = begun;
      begun += 1;
      expectCount('result', (await run(n)) as number, n + 1);
      done += 1;
    }
  };
  const perSecond = await rate(count, 1e3, async () => {
    await Promise.all(Array.from({ length: WIDTH }, lane));
  });
  expectCount('tasks done', done, count);
  return { rate: perSecond };
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const { system, ref } = await openThreadedSystem();
      return { measure: () => tasks(size, (n) => ref.ask('increment', n)), close: () => system.stop() };
    },
  };
}

/** `atOnce`: how many tasks piscina gives to its worker before it waits for results; 1 is its default. */
function piscina(Piscina: PiscinaClass, size: Size, name: string, atOnce: number): Contestant {
  return {
    name,
    open: async () => {
      const pool = new Piscina({
        filename: new URL('./pool-task.ts', import.meta.url).href,
        minThreads: 1,
        maxThreads: 1,
        concurrentTasksPerWorker: atOnce,
      });
      return { measure: () => tasks(size, (n) => pool.run(n)), close: () => pool.destroy() };
    },
  };
}
