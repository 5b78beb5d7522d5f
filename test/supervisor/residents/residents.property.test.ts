// Residents against a model: whatever is told, asked, crashed, stopped and waited for, and in whatever order the actors run,
// every message that was taken is handled exactly once, in order per sender and identity, unless its actor crashed on it.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { residents } from '../../../src/supervisor/residents/residents.ts';
import { type ActorSystem, createActorSystem } from '../../../src/supervisor/system.ts';
import { ManualClock, SeededExecutor } from '../../../src/supervisor/testkit/index.ts';
import { type Chronicle, diaryActor, type diaryProtocol, type Note } from '../../support/diary-actor.ts';

type Step =
  | {
      readonly kind: 'tell' | 'ask';
      readonly key: number;
      readonly sender: number;
      readonly besides: Note['besides'];
    }
  | { readonly kind: 'idle'; readonly ms: number }
  | { readonly kind: 'run'; readonly slices: number };

const stepOf: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('tell' as const, 'ask' as const),
      key: fc.nat(5),
      sender: fc.nat(2),
      besides: fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        { weight: 3, arbitrary: fc.constantFrom('crash' as const, 'stop' as const, 'wait' as const) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('idle' as const), ms: fc.integer({ min: 1, max: 60 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('run' as const), slices: fc.integer({ min: 1, max: 9 }) }),
  },
);

interface World {
  readonly clock: ManualClock;
  readonly executor: SeededExecutor;
  readonly system: ActorSystem;
  readonly chronicle: Chronicle;
  readonly diaries: Ref<typeof diaryProtocol>;
}

async function openWorld(seed: number, residentsMax: number): Promise<World> {
  const executor = new SeededExecutor(seededRandom(seed));
  const clock = new ManualClock({ settle: () => executor.run() });
  const opening = createActorSystem({ clock, executor, random: seededRandom(seed) });
  await executor.run();
  const system = await opening;
  const chronicle = { handled: [], living: new Map<string, number>(), mostLiving: 0, overlaps: 0 };
  const options = { keyOf: 'diaryKey', residentsMax, idleMs: 20 };
  const diaries = system.spawn(...residents(diaryActor, chronicle, options), { id: 'diaries' });
  // The module of the key function is loaded by name, which takes the event loop a moment.
  while (system.actors().find(({ path }) => path === 'diaries')?.state !== 'running') await executor.run();
  return { clock, executor, system, chronicle, diaries };
}

test('every message that was taken is handled once and in order, unless its actor crashed on it', async () => {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
  console.log(`residents.property.test.ts: TEST_SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(
      fc.array(stepOf, { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 2 ** 31 }),
      async (steps, residentsMax, order) => {
        const { clock, executor, system, chronicle, diaries } = await openWorld(order, residentsMax);
        const taken: Note[] = [];
        const answers: Promise<unknown>[] = [];
        for (const [n, step] of steps.entries()) {
          if (step.kind === 'idle') await clock.advance(step.ms);
          else if (step.kind === 'run') for (let i = 0; i < step.slices; i += 1) executor.step();
          else {
            const { kind, besides } = step;
            const note: Note = {
              key: `key ${step.key}`,
              sender: `sender ${step.sender}`,
              n,
              ...(besides === undefined ? {} : { besides }),
            };
            if (kind === 'tell') expect(diaries.tell('note', note)).toBe(true);
            else answers.push(diaries.ask('ask', note).catch((error: unknown) => error));
            taken.push(note);
          }
        }
        await clock.advance(10_000);
        await Promise.all(answers);
        for (const sender of [0, 1, 2]) {
          for (const key of [0, 1, 2, 3, 4, 5]) {
            const isTheirs = (note: Note) => note.sender === `sender ${sender}` && note.key === `key ${key}`;
            const expected = taken
              .filter((note) => isTheirs(note) && note.besides !== 'crash')
              .map(({ n }) => n);
            expect(chronicle.handled.filter(isTheirs).map(({ n }) => n)).toEqual(expected);
          }
        }
        expect(chronicle.overlaps).toBe(0);
        expect(chronicle.mostLiving).toBeLessThanOrEqual(residentsMax);
        expect(chronicle.living.size).toBe(0); // all were idle for long enough
        const { sent, handled, rejected, deadLettered } = system.counters();
        expect({ handled, rejected, deadLettered }).toEqual({ handled: sent, rejected: 0, deadLettered: 0 });
        const stopping = system.stop();
        await executor.run();
        await stopping;
      },
    ),
    { seed, numRuns: 400, endOnFailure: true },
  );
}, 60_000);
