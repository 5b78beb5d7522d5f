// Spawn: how many actors a second can be started, and started and stopped again.

import { createActorSystem } from '../../src/supervisor/system.ts';
import { amount, type Contest, type Contestant, expectCount, loopTurn, rate, type Size } from './harness.ts';
import { type Nact, type NactRef, peer } from './peers.ts';
import { idled, parent } from './subjects.ts';

const ACTORS = 50_000;
/** As many live at a time while actors come and go. */
const WAVE = 1_000;
const STEP_MAX_MS = 60_000;

export function question(size: Size): Contest[] {
  return [
    {
      rows: [
        {
          key: 'spawn',
          what: 'spawn',
          unit: 'k/s',
          moreIsBetter: true,
          target: 1_000,
          ratios: [{ to: 'nact' }],
        },
        {
          key: 'churn',
          what: 'spawn and stop',
          unit: 'k/s',
          moreIsBetter: true,
          target: 500,
          ratios: [{ to: 'nact' }],
        },
      ],
      contestants: [troupe(size), ...peer('nact', (nact) => nactActors(nact, size))],
    },
  ];
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const system = await createActorSystem();
      const actors = amount(ACTORS, size);
      const waves = Math.ceil(actors / WAVE);
      let round = 0;
      return {
        measure: async () => {
          round += 1;
          const ref = system.spawn(parent, undefined, { id: `parent-${round}`, restart: 'temporary' });
          const before = idled.started;
          const churn = await rate(waves * WAVE, 1e3, async () => {
            await ref.ask('churn', { waves, width: WAVE }, { deadlineMs: STEP_MAX_MS });
          });
          expectCount('started', idled.started - before, waves * WAVE);
          const spawn = await rate(actors, 1e3, async () => {
            await ref.ask('spawn', actors, { deadlineMs: STEP_MAX_MS });
            await ref.ask('settle', null, { deadlineMs: STEP_MAX_MS });
          });
          expectCount('started', idled.started - before, waves * WAVE + actors);
          await ref.ask('stopAll', null, { deadlineMs: STEP_MAX_MS });
          ref.tell('leave', null);
          return { spawn, churn };
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
      const waves = Math.ceil(actors / WAVE);
      let round = 0;
      let started = 0;
      let ended = 0;
      const spawn = (parentRef: NactRef, i: number): NactRef =>
        nact.spawn<{ woken: number }, unknown>(
          parentRef,
          (state = { woken: 0 }) => ({ woken: state.woken + 1 }),
          `idler-${i}`,
          {
            initialStateFunc: () => {
              started += 1;
              return { woken: 0 };
            },
            afterStop: () => {
              ended += 1;
            },
          },
        );
      return {
        measure: async () => {
          round += 1;
          started = 0;
          ended = 0;
          const ref = nact.spawn(system, () => undefined, `parent-${round}`);
          const churn = await rate(waves * WAVE, 1e3, async () => {
            for (let wave = 1; wave <= waves; wave += 1) {
              const refs = Array.from({ length: WAVE }, (_, i) => spawn(ref, i));
              for (const one of refs) nact.stop(one);
              while (ended < wave * WAVE) await loopTurn();
            }
          });
          expectCount('started', started, waves * WAVE);
          let refs: NactRef[] = [];
          const spawned = await rate(actors, 1e3, async () => {
            refs = Array.from({ length: actors }, (_, i) => spawn(ref, i));
          });
          expectCount('started', started, actors + waves * WAVE);
          for (const one of refs) nact.stop(one);
          nact.stop(ref);
          while (ended < actors + waves * WAVE) await loopTurn();
          return { spawn: spawned, churn };
        },
        close: async () => nact.stop(system),
      };
    },
  };
}
