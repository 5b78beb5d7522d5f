// Promise 12: everything is visible as data: actors, mailbox depth, restarts, dead letters, threads.

import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { onThread, openSystem, settledSums } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { openGate } from '../../support/gate.ts';
import { scribeActor } from '../../support/scribe-actor.ts';

test('the actors are shown with state, mail, restarts, last failure and age', async () => {
  const clock = new ManualClock();
  const system = await openSystem({ clock });
  const gate = await openGate(system);
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', name: true });
  const scribe = system.spawn(scribeActor, { gate: gate.address }, { id: 'scribe' });
  await gate.arrived(1);
  for (let n = 0; n < 3; n += 1) scribe.tell('write', { sender: 'test', n });
  counter.tell('crash', 'boom');
  await clock.advance(500);
  await system.named(counterProtocol).ask('total', {});
  const views = new Map(system.actors().map((view) => [view.path, view]));
  expect(views.get('scribe')).toMatchObject({
    state: 'starting',
    mailboxLength: 3,
    handled: 0,
    restarts: 0,
    ageMs: 500,
  });
  expect(views.get('counter')).toMatchObject({
    state: 'running',
    mailboxLength: 0,
    handled: 1,
    restarts: 1,
    lastFailure: 'boom',
  });
  expect(views.get('')).toMatchObject({ state: 'running' }); // the root
  await system.stop();
  expect(system.actors()).toEqual([]);
});

test('dead letters are shown with their target, message and refusal; the newest are kept', async () => {
  const system = await openSystem();
  system.named(counterProtocol, 'nobody').tell('add', 1);
  expect(system.deadLetters()).toEqual([
    { atMs: expect.any(Number), target: 'nobody', message: 'add', refusal: 'unknown_name' },
  ]);
  for (let n = 0; n < 1_000; n += 1) system.named(counterProtocol, `nobody ${n}`).tell('add', 1);
  expect(system.deadLetters().length).toBeLessThanOrEqual(256);
  expect(system.deadLetters().at(-1)?.target).toBe('nobody 999');
  expect(system.counters()).toMatchObject({ sent: 1_001, deadLettered: 1_001 });
});

test('the threads are shown with their name, state and health', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', ...onThread('one') });
  expect(system.threads()).toMatchObject([{ name: 'one', state: 'starting', health: null }]);
  for (let n = 0; n < 10; n += 1) counter.tell('add', 1);
  await counter.ask('total', {});
  await settledSums(system);
  expect(system.threads()).toMatchObject([
    {
      name: 'one',
      state: 'ready',
      health: {
        actors: 1,
        queued: 0,
        counters: { handled: 11, deadLettered: 0 },
        heapUsedBytes: expect.any(Number),
        loopLagMs: expect.any(Number),
      },
    },
  ]);
});
