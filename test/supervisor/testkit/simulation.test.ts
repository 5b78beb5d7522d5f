// The simulation as its users have it: a scenario, faults on demand, failures as reports.

import { expect, test } from 'vitest';
import { failing, type Simulation, simulate } from '../../../src/supervisor/testkit/index.ts';
import { counterActor } from '../../support/counter-actor.ts';

const elsewhere = { id: 'counter', placement: { thread: 'one' } } as const;
const behaviours = [counterActor];

test('actors on simulated threads are spoken to as any others, in the time of the simulation', async () => {
  const scenario = async ({ system, sleep, nowMs, note }: Simulation): Promise<void> => {
    const counter = system.spawn(counterActor, { start: 1 }, elsewhere);
    await sleep(3_600_000);
    counter.tell('add', 1);
    note(`the total is ${await counter.ask('total', {})}`);
    expect((await counter.ask('whereabouts', {})).thread).toBe(1);
    expect(nowMs()).toBeGreaterThanOrEqual(3_600_000);
  };
  const { failure, trace } = await simulate(1, scenario, { behaviours });
  expect(failure).toBeNull();
  expect(trace.some((line) => line.endsWith('the total is 2'))).toBe(true);
});

test('a thread can be killed and held up at a chosen moment', async () => {
  const scenario = async ({ system, killThread, pauseThread, nowMs }: Simulation): Promise<void> => {
    const counter = system.spawn(counterActor, { start: 1 }, elsewhere);
    await counter.ask('total', {});
    pauseThread(1, 500);
    const askedAtMs = nowMs();
    await counter.ask('total', {});
    expect(nowMs() - askedAtMs).toBeGreaterThanOrEqual(500);
    const asked = counter.ask('never', {});
    killThread(1);
    await expect(asked).rejects.toMatchObject({ code: 'actor_terminated' });
  };
  expect((await simulate(1, scenario, { behaviours })).failure).toBeNull();
});

test('handlers fail as often as they are told to', async () => {
  const shaky = failing(counterActor, 0.1);
  const scenario = async ({ system }: Simulation): Promise<void> => {
    const counter = system.spawn(shaky, { start: 0 }, { id: 'counter', restart: 'temporary' });
    for (;;) await counter.ask('total', {});
  };
  const { failure } = await simulate(1, scenario, { behaviours: [shaky] });
  expect(failure).toMatchObject({ code: 'actor_crashed' });
});

test('what a scenario fails on is reported, and what it waits for in vain', async () => {
  const failed = await simulate(1, async () => {
    throw new Error('not as expected');
  });
  expect(failed.failure?.message).toBe('not as expected');
  const stuck = await simulate(1, () => new Promise(() => undefined), { stepsMax: 1_000 });
  expect(stuck.failure?.message).toMatch('still busy after');
});
