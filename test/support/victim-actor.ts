// Victim: an actor that dies in whichever way it is told to. Witness: one that watches and asks it from another thread.

import { actor, type Terminated } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { loopTurn } from '../../src/supervisor/testkit/index.ts';
import { gateProtocol } from './gate.ts';

type Nothing = Record<string, never>;

const DEATHS = {
  'a throw': () => {
    throw new Error('boom');
  },
  'a rejection': async () => {
    await Promise.resolve();
    throw new Error('boom');
  },
  'exit(0)': () => process.exit(0),
  'exit(1)': () => process.exit(1),
  'an uncaught error': () => {
    setImmediate(() => {
      throw new Error('stray');
    });
  },
  'an unhandled rejection': () => {
    void Promise.reject(new Error('stray'));
  },
  'the heap limit': () => {
    for (const kept: unknown[] = []; ; ) kept.push(new Array(1e5).fill({}));
  },
  'an endless loop': () => {
    for (;;);
  },
  /** Nothing keeps the thread any more, and it ends as if all were well. */
  'unreferenced ports': () => {
    // @ts-expect-error It is how a program sees every handle of its thread, and is declared nowhere.
    for (const handle of process._getActiveHandles()) handle.unref();
  },
} as const satisfies Record<string, () => unknown>;
export type Death = keyof typeof DEATHS;

export const victimProtocol = protocol('victim', {
  die: tell<Death>(),
  add: tell<number>(),
  total: call<Nothing, number>(),
  /** So many megabytes of heap. */
  hoard: tell<number>(),
  never: call<Nothing, never>(),
});

export interface VictimArguments {
  /** Waits for this gate in its setup, and fails then. */
  readonly failsAfter?: Address;
}

export const victimActor = actor({
  module: import.meta.url,
  exportName: 'victimActor',
  protocol: victimProtocol,
  setup: async (context, { failsAfter }: VictimArguments) => {
    if (failsAfter !== undefined) {
      await context.refTo(gateProtocol, failsAfter).ask('pass', context.path);
      throw new Error('boom');
    }
    let total = 0;
    return {
      die: (how) => DEATHS[how]() as void | Promise<void>,
      add: (n) => {
        total += n;
      },
      total: () => total,
      hoard: (megabytes) => {
        const kept: number[][] = [];
        while (kept.length < megabytes) kept.push(new Array<number>(2 ** 17).fill(kept.length + 0.5));
      },
      never: () => new Promise<never>(() => undefined),
    };
  },
});

export interface Testimony {
  /** What it was told about the end of the victim. */
  readonly told: readonly Terminated[];
  /** How its question ended, and when; null while it is open. */
  readonly failure: { readonly code: string; readonly atMs: number } | null;
}

export const witnessProtocol = protocol('witness', {
  /** Watches and asks the victim; answers when both have arrived there, as far as the neighbour still answers. */
  observe: call<{ readonly victim: Address; readonly neighbour: Address }, true>(),
  /** Answers one turn after it was told. */
  end: call<Nothing, Testimony>(),
  /** Answers when the neighbour has, or is gone. */
  sofar: call<Nothing, Testimony>(),
});

const ASK_MS = 600_000;

/** Fractional, and the same on all threads, each of which counts from its own start. */
export const wallMs = (): number => performance.timeOrigin + performance.now();

export const witnessActor = actor({
  module: import.meta.url,
  exportName: 'witnessActor',
  protocol: witnessProtocol,
  setup: (context) => {
    const told: Terminated[] = [];
    const first = Promise.withResolvers<void>();
    let failure: Testimony['failure'] = null;
    let askNeighbour = async (): Promise<unknown> => undefined;
    return {
      observe: async ({ victim, neighbour }) => {
        context.watch(victim, (terminated) => {
          told.push(terminated);
          first.resolve();
        });
        context
          .refTo(victimProtocol, victim)
          .ask('never', {}, { deadlineMs: ASK_MS })
          .catch((error) => {
            failure = { code: error.code, atMs: wallMs() };
          });
        askNeighbour = () =>
          context
            .refTo(victimProtocol, neighbour)
            .ask('total', {})
            .catch(() => undefined);
        await askNeighbour();
        return true as const;
      },
      end: async () => {
        await first.promise;
        await loopTurn();
        return { told, failure };
      },
      sofar: async () => {
        await askNeighbour();
        return { told, failure };
      },
    };
  },
});
