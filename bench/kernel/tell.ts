// Tell: how many messages a second reach their handlers on one thread, one actor flooded and a thousand in turn.
// Sent in bursts that fit into the default mailbox; each burst is handled before the next begins.

import { createActorSystem } from '../../src/supervisor/system.ts';
import { amount, type Contest, type Contestant, type Readings, rate, type Size } from './harness.ts';
import { type Nact, peer } from './peers.ts';
import { type Tick, tallied, tick } from './subjects.ts';
import { Tally } from './tally.ts';

const BURST = 50_000;
const BURSTS = 20;
const MESSAGE = tick(1);

export function question(size: Size): Contest[] {
  return [
    contest('local tell, one flooded actor', 1, size, { target: 6, nactTimes: 10 }),
    contest('local tell over 1,000 actors', 1_000, size, { nactTimes: 4 }),
  ];
}

function contest(
  what: string,
  actors: number,
  size: Size,
  { target, nactTimes }: { readonly target?: number; readonly nactTimes: number },
): Contest {
  return {
    rows: [
      {
        key: 'rate',
        what,
        unit: 'M/s',
        moreIsBetter: true,
        ...(target === undefined ? {} : { target }),
        ratios: [{ to: 'nact', target: nactTimes }, { to: 'array queue' }],
      },
    ],
    contestants: [
      troupe(actors, size),
      ...peer('nact', (nact) => nactActors(nact, actors, size)),
      arrayQueues(actors, size),
    ],
  };
}

/** `tellAll` sends one message to each actor. */
async function flood(actors: number, size: Size, tally: Tally, tellAll: () => void): Promise<Readings> {
  const bursts = amount(BURSTS, size);
  const perSecond = await rate(bursts * BURST, 1e6, async () => {
    for (let burst = 0; burst < bursts; burst += 1) {
      const handled = tally.reaches(BURST);
      for (let sent = 0; sent < BURST; sent += actors) tellAll();
      await handled;
    }
  });
  await tally.expectNoMore();
  return { rate: perSecond };
}

function troupe(actors: number, size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem();
      const tally = new Tally();
      const refs = Array.from({ length: actors }, (_, i) =>
        system.spawn(tallied, tally, { id: `tallied-${i}` }),
      );
      const tellAll = (): void => {
        for (const ref of refs) ref.tell('add', MESSAGE);
      };
      return {
        measure: () => flood(actors, size, tally, tellAll),
        close: () => system.stop(),
      };
    },
  };
}

function nactActors(nact: Nact, actors: number, size: Size): Contestant {
  return {
    name: 'nact',
    open: async () => {
      const system = nact.start();
      const tally = new Tally();
      const handle = (_state: unknown, _message: Tick): void => tally.add();
      const refs = Array.from({ length: actors }, (_, i) => nact.spawn(system, handle, `tallied-${i}`));
      const tellAll = (): void => {
        for (const ref of refs) nact.dispatch(ref, MESSAGE);
      };
      return {
        measure: () => flood(actors, size, tally, tellAll),
        close: async () => nact.stop(system),
      };
    },
  };
}

/** The least that a mailbox can cost: push, and later call. */
function arrayQueues(actors: number, size: Size): Contestant {
  return {
    name: 'array queue',
    open: async () => {
      const tally = new Tally();
      const handlers: Readonly<Record<string, (message: Tick) => void>> = { add: () => tally.add() };
      const queues = Array.from({ length: actors }, () => [] as Tick[]);
      const drain = (): void => {
        for (const queue of queues) {
          for (const message of queue) handlers['add']?.(message);
          queue.length = 0;
        }
      };
      const tellAll = (): void => {
        for (const queue of queues) {
          if (queue === queues[0] && queue.length === 0) queueMicrotask(drain);
          queue.push(MESSAGE);
        }
      };
      return {
        measure: () => flood(actors, size, tally, tellAll),
        close: async () => undefined,
      };
    },
  };
}
