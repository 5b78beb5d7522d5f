// The snapshot of a whole system: every thread answers for itself, nobody is waited for, and it is bounded.

import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { on, onThread, openSystem, PATIENT, settledSums, TRANSPORTS } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { openParent } from '../../support/parent.ts';

test.each(TRANSPORTS)(
  'an actor is shown with mail, restarts, last failure, age and thread: %s',
  async (transport) => {
    const system = await openSystem();
    const parent = openParent(system);
    const options = on(transport, { id: 'counter', name: true, restart: 'permanent' });
    parent.spawn(counterActor, { start: 0 }, options);
    await parent.childStarted('counter');
    system.named(counterProtocol).tell('crash', 'boom');
    await expect
      .poll(
        () =>
          system
            .named(counterProtocol)
            .ask('total', {})
            .catch(() => null),
        PATIENT,
      )
      .toBe(0);
    const path = `${parent.path}/counter`;
    await system.introspection.suspend(path);
    for (let n = 0; n < 3; n += 1) system.named(counterProtocol).tell('add', 1);
    const { actors, actorsOmitted, totals } = await system.introspection.snapshot(PATIENT);
    const { thread } = transport === 'the same thread' ? { thread: 0 } : { thread: 1 };
    expect(actors.find((actor) => actor.path === path)).toMatchObject({
      thread,
      address: { thread, path },
      state: 'suspended',
      mailboxLength: 3,
      handled: 1,
      restarts: 1,
      lastFailure: 'boom',
      ageMs: expect.any(Number),
    });
    expect(actors.map((actor) => actor.path)).toEqual(['', parent.path, path]);
    expect(actorsOmitted).toBe(0);
    expect(totals).toMatchObject({ actors: 3, queued: 3, restarts: 1 });
  },
);

test('the totals are those of all threads, as of now', async () => {
  const system = await openSystem({ threads: { heartbeatMs: 3_600_000 } });
  const counters = ['one', 'two'].map((id) =>
    system.spawn(counterActor, { start: 0 }, { id, ...onThread(id) }),
  );
  for (const counter of counters) for (let n = 0; n < 100; n += 1) counter.tell('add', 1);
  await Promise.all(counters.map((counter) => counter.ask('total', {})));
  await expect
    .poll(
      async () => (await system.introspection.snapshot(PATIENT)).threads.map(({ state }) => state),
      PATIENT,
    )
    .toEqual(['ready', 'ready', 'ready']);
  const { totals, threads } = await system.introspection.snapshot(PATIENT);
  expect(totals).toMatchObject({ actors: 3, rejected: 0, deadLettered: 0, restarts: 0 });
  expect(totals.handled).toBeGreaterThanOrEqual(202);
  expect(threads).toMatchObject([
    { thread: 0, name: 'edge', actors: 1, heapUsedBytes: expect.any(Number), loopLagMs: expect.any(Number) },
    { thread: 1, name: 'one', actors: 1, heapUsedBytes: expect.any(Number), loopLagMs: expect.any(Number) },
    { thread: 2, name: 'two', actors: 1, heapUsedBytes: expect.any(Number), loopLagMs: expect.any(Number) },
  ]);
});

test('being looked at keeps the sums right', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'one', ...onThread('one') });
  await counter.ask('total', {});
  for (let n = 0; n < 5; n += 1) await system.introspection.snapshot(PATIENT);
  const { sent, handled, rejected, deadLettered, queued } = await settledSums(system);
  expect(handled + rejected + deadLettered + queued).toBe(sent);
});

test('a thread that does not answer is shown as silent, with what it last said', async () => {
  const system = await openSystem({ threads: { stuckMs: 60_000 } });
  const counter = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'counter', restart: 'temporary', ...onThread('one') },
  );
  await counter.ask('total', {});
  await settledSums(system);
  counter.tell('spin', {});
  const { threads, totals, actors } = await system.introspection.snapshot({ withinMs: 100 });
  expect(threads).toMatchObject([{ state: 'ready' }, { name: 'one', state: 'silent', actors: 1 }]);
  expect(totals.actors).toBe(2);
  expect(actors.map(({ path }) => path)).toEqual(['']);
  await expect(system.introspection.getState('counter')).rejects.toMatchObject({ code: 'actor_not_found' });
  await system.terminateThread(1);
});

test('a child that waits to be started again is shown, too', async () => {
  const clock = new ManualClock();
  const system = await openSystem({ clock });
  const parent = openParent(system);
  parent.supervise({
    strategy: 'one_for_one',
    intensity: { restartsMax: 5, withinMs: 60_000 },
    backoff: { initialMs: 1_000, maxMs: 1_000 },
  });
  const counter = parent.spawn(counterActor, { start: 0 }, { id: 'counter' });
  counter.tell('crash', 'x'.repeat(10_000));
  await expect
    .poll(async () => (await system.introspection.snapshot(PATIENT)).actors.at(-1), PATIENT)
    .toMatchObject({
      path: `${parent.path}/counter`,
      state: 'restarting',
      address: null,
      restarts: 0,
    });
  const { actors } = await system.introspection.snapshot(PATIENT);
  expect(actors.at(-1)?.lastFailure).toHaveLength(501);
  await clock.advance(2_000);
  expect((await system.introspection.snapshot(PATIENT)).actors.at(-1)).toMatchObject({
    state: 'running',
    restarts: 1,
  });
});

test('the restarts of a lost thread stay in the sum', async () => {
  const system = await openSystem();
  const parent = openParent(system);
  parent.spawn(counterActor, { start: 0 }, { id: 'counter', name: true, ...onThread('one') });
  await parent.childStarted('counter');
  await system.terminateThread(1);
  await expect
    .poll(async () => (await system.introspection.snapshot(PATIENT)).totals.restarts, PATIENT)
    .toBe(1);
});

test('of very many actors the oldest and the busiest are listed, and the others counted', async () => {
  const system = await openSystem();
  const parent = openParent(system);
  for (let n = 0; n < 20_000; n += 1) parent.spawn(counterActor, { start: 0 }, { id: `${n}` });
  const busy = parent.spawn(counterActor, { start: 0 }, { id: 'busy' });
  for (let n = 0; n < 100; n += 1) busy.tell('add', 1);
  await busy.ask('total', {});
  const { actors, actorsOmitted, totals } = await system.introspection.snapshot({
    ...PATIENT,
    actorsMax: 10,
  });
  expect(actors).toHaveLength(10);
  expect(actors.map(({ path }) => path)).toContain('');
  expect(actors.find(({ path }) => path.endsWith('/busy'))).toMatchObject({ handled: 101 });
  expect(actorsOmitted).toBe(20_003 - 10);
  expect(totals.actors).toBe(20_003);
});
