// Subjects: the actors that are measured. Importable by a worker thread. They do next to nothing, so that what is measured is
// the way to them.

import { actor } from '../../src/supervisor/actor.ts';
import { call, protocol, tell } from '../../src/supervisor/protocol.ts';
import type { Tally } from './tally.ts';

/** What is sent where the size of a message matters: about 50 bytes as JSON. */
export interface Tick {
  readonly id: number;
  readonly kind: 'tick';
  readonly value: number;
  readonly tag: string;
}

export function tick(id: number): Tick {
  return { id, kind: 'tick', value: id + 0.5, tag: 'bench' };
}

export const counterProtocol = protocol('counter', {
  add: tell<Tick>(),
  /** How many have come since the last time it was asked. */
  taken: call<null, number>(),
  increment: call<number, number>(),
  crash: tell<null>(),
});

export const counter = actor({
  module: import.meta.url,
  exportName: 'counter',
  protocol: counterProtocol,
  setup: () => {
    let count = 0;
    return {
      add: () => {
        count += 1;
      },
      taken: () => {
        const taken = count;
        count = 0;
        return taken;
      },
      increment: (n) => n + 1,
      crash: () => {
        throw new Error('crashed as told');
      },
    };
  },
});

export const talliedProtocol = protocol('tallied', { add: tell<Tick>() });

/** Counts on a tally that it shares with the bench, so on the bench's own thread only. */
export const tallied = actor({
  module: import.meta.url,
  exportName: 'tallied',
  protocol: talliedProtocol,
  setup: (_context, tally: Tally) => ({ add: () => tally.add() }),
});

export const idlerProtocol = protocol('idler', { wake: tell<null>() });

/** What the idlers of this thread have done so far. */
export const idled = { started: 0, woken: 0 };

/** All share these, so that what an idler occupies is what the kernel needs for it. */
const idlerHandlers = {
  wake: (): void => {
    idled.woken += 1;
  },
};

export const idler = actor({
  module: import.meta.url,
  exportName: 'idler',
  protocol: idlerProtocol,
  setup: () => {
    idled.started += 1;
    return idlerHandlers;
  },
});

export const parentProtocol = protocol('parent', {
  spawn: call<number, null>(),
  wakeAll: call<null, null>(),
  stopAll: call<null, null>(),
  /** Answered when what came before it is done: signals of children are served before mail. */
  settle: call<null, null>(),
  /** Spawns and stops in waves; answers when all have ended. */
  churn: call<{ readonly waves: number; readonly width: number }, null>(),
  leave: tell<null>(),
});

export const parent = actor({
  module: import.meta.url,
  exportName: 'parent',
  protocol: parentProtocol,
  setup: (context) => {
    const spawn = (_: unknown, i: number) =>
      context.spawn(idler, undefined, { id: `idler-${i}`, restart: 'temporary' });
    const stop = (_: unknown, i: number) => context.stopChild(`idler-${i}`);
    let idlers: ReturnType<typeof spawn>[] = [];
    return {
      spawn: (length) => {
        idlers = Array.from({ length }, spawn);
        return null;
      },
      wakeAll: () => {
        for (const one of idlers) one.tell('wake', null);
        return null;
      },
      stopAll: async () => {
        await Promise.all(idlers.map(stop));
        idlers = [];
        return null;
      },
      settle: () => null,
      churn: async ({ waves, width }) => {
        for (let wave = 0; wave < waves; wave += 1) {
          const wide = Array.from({ length: width }, spawn);
          await Promise.all(wide.map(stop));
        }
        return null;
      },
      leave: () => context.stopSelf(),
    };
  },
});
