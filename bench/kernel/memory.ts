// Memory: what one idle actor occupies on the heap, before its first message and after it.

import { createActorSystem } from '../../src/supervisor/system.ts';
import {
  amount,
  type Contest,
  type Contestant,
  collectGarbage,
  expectCount,
  loopTurn,
  type Size,
} from './harness.ts';
import { type Nact, type NactRef, peer, type Xstate } from './peers.ts';
import { idled, parent } from './subjects.ts';

const ACTORS = 50_000;
const STOP_MAX_MS = 60_000;

export function question(size: Size): Contest[] {
  const ratios = [{ to: 'nact' }, { to: 'xstate' }];
  return [
    {
      rows: [
        {
          key: 'bare',
          what: 'idle actor, never told anything',
          unit: 'bytes',
          moreIsBetter: false,
          target: 600,
          ratios,
        },
        { key: 'woken', what: 'idle actor after one message', unit: 'bytes', moreIsBetter: false, ratios },
      ],
      contestants: [
        troupe(size),
        ...peer('nact', (nact) => nactActors(nact, size)),
        ...peer('xstate', (xstate) => xstateActors(xstate, size)),
      ],
    },
  ];
}

/** Bytes on the heap; what has gone is gone after the second collection. */
async function heapBytes(): Promise<number> {
  collectGarbage();
  await loopTurn();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem();
      const actors = amount(ACTORS, size);
      let round = 0;
      return {
        measure: async () => {
          round += 1;
          const ref = system.spawn(parent, undefined, { id: `parent-${round}`, restart: 'temporary' });
          await ref.ask('settle', null);
          const { started, woken: wokenBefore } = idled;
          const before = await heapBytes();
          await ref.ask('spawn', actors);
          await ref.ask('settle', null);
          expectCount('started', idled.started - started, actors);
          const bare = ((await heapBytes()) - before) / actors;
          await ref.ask('wakeAll', null);
          while (idled.woken - wokenBefore < actors) await loopTurn();
          const woken = ((await heapBytes()) - before) / actors;
          await ref.ask('stopAll', null, { deadlineMs: STOP_MAX_MS });
          ref.tell('leave', null);
          return { bare, woken };
        },
        close: () => system.stop(),
      };
    },
  };
}

function nactActors(nact: Nact, size: Size): Contestant {
  return {
    name: 'nact',
    open: async () => {
      const system = nact.start();
      const actors = amount(ACTORS, size);
      return {
        measure: async () => {
          let count = 0;
          const before = await heapBytes();
          let refs: NactRef[] = Array.from({ length: actors }, (_, i) =>
            nact.spawn<{ woken: number }, unknown>(
              system,
              (state = { woken: 0 }) => {
                count += 1;
                return { woken: state.woken + 1 };
              },
              `idler-${i}`,
            ),
          );
          const bare = ((await heapBytes()) - before) / actors;
          for (const ref of refs) nact.dispatch(ref, null);
          while (count < actors) await loopTurn();
          const woken = ((await heapBytes()) - before) / actors;
          for (const ref of refs) nact.stop(ref);
          refs = [];
          return { bare, woken };
        },
        close: async () => nact.stop(system),
      };
    },
  };
}

function xstateActors(xstate: Xstate, size: Size): Contestant {
  return {
    name: 'xstate',
    open: async () => {
      const actors = amount(ACTORS, size);
      const logic = xstate.fromTransition((state: { woken: number }) => ({ woken: state.woken + 1 }), {
        woken: 0,
      });
      return {
        measure: async () => {
          const before = await heapBytes();
          const refs = Array.from({ length: actors }, () => {
            const one = xstate.createActor(logic);
            one.start();
            return one;
          });
          const bare = ((await heapBytes()) - before) / actors;
          for (const ref of refs) ref.send({ type: 'wake' });
          const woken = ((await heapBytes()) - before) / actors;
          for (const ref of refs) ref.stop();
          return { bare, woken };
        },
        close: async () => undefined,
      };
    },
  };
}
