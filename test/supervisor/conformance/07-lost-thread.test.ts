// Promise 7: a dead worker thread loses only the actors that lived on it; they are restarted on the warm spare.

import { expect, test } from 'vitest';
import type { ActorSystem, ActorSystemOptions } from '../../../src/supervisor/system.ts';
import { loopTurn, openProbe, type Simulation, simulate } from '../../../src/supervisor/testkit/index.ts';
import { onThread, openSystem, settledSums } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { foremanActor } from '../../support/foreman-actor.ts';
import { openGate } from '../../support/gate.ts';
import { member, memberProtocol } from '../../support/member-actor.ts';
import { openParent } from '../../support/parent.ts';
import { scribeActor } from '../../support/scribe-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

const WITH_SPARE: ActorSystemOptions = { threads: { spare: true } };

/** The spare's number, once it is ready. */
async function spareOf(system: ActorSystem): Promise<number> {
  for (;;) {
    const spare = system.threads().find(({ name, state }) => name === null && state === 'ready');
    if (spare !== undefined) return spare.thread;
    await loopTurn();
  }
}

/** The answer of the registered counter, as soon as there is one. */
async function reachThread(system: ActorSystem, name: string): Promise<number> {
  for (;;) {
    const found = await system
      .named(counterProtocol, name)
      .ask('whereabouts', {})
      .catch(() => null);
    if (found !== null) return found.thread;
    await loopTurn();
  }
}

test('a dead thread loses its own actors only, and they are restarted on the spare', async () => {
  const system = await openSystem(WITH_SPARE);
  const parent = openParent(system);
  const here = parent.spawn(counterActor, { start: 0 }, { id: 'here', name: 'here' });
  const one = parent.spawn(counterActor, { start: 0 }, { id: 'one', name: 'one', ...onThread('one') });
  const beside = parent.spawn(
    counterActor,
    { start: 0 },
    { id: 'beside', name: 'beside', ...onThread('one') },
  );
  const two = parent.spawn(counterActor, { start: 0 }, { id: 'two', name: 'two', ...onThread('two') });
  for (const counter of [here, one, beside, two]) counter.tell('add', 7);
  expect(await Promise.all([here, one, beside, two].map((counter) => counter.ask('total', {})))).toEqual([
    7, 7, 7, 7,
  ]);
  const spare = await spareOf(system);
  one.tell('exit', 1);
  expect([await reachThread(system, 'one'), await reachThread(system, 'beside')]).toEqual([spare, spare]);
  expect(await system.named(counterProtocol, 'one').ask('total', {})).toBe(0);
  expect([await here.ask('total', {}), await two.ask('total', {})]).toEqual([7, 7]);
  expect(await spareOf(system)).not.toBe(spare); // there is a new one
});

test('a spare that dies is no loss: the next thread starts cold', async () => {
  const system = await openSystem(WITH_SPARE);
  const parent = openParent(system);
  parent.spawn(counterActor, { start: 0 }, { id: 'one', name: 'one', ...onThread('one') });
  await parent.childStarted('one');
  const spare = await spareOf(system);
  await system.terminateThread(spare);
  expect(system.threads().map(({ name }) => name)).toEqual(['one']);
  const before = await reachThread(system, 'one');
  await system.terminateThread(before);
  expect(await reachThread(system, 'one')).toBeGreaterThan(spare);
});

test('a lost thread counts once against the intensity, however many children lived on it', async () => {
  const system = await openSystem();
  const parent = openParent(system);
  parent.supervise({
    strategy: 'one_for_one',
    intensity: { restartsMax: 1, withinMs: 60_000 },
    backoff: { initialMs: 0, maxMs: 0 },
  });
  for (let i = 0; i < 10; i += 1) {
    parent.spawn(counterActor, { start: i }, { id: `${i}`, name: `${i}`, ...onThread('one') });
    await parent.childStarted(`${i}`);
  }
  const lost = await reachThread(system, '0');
  await system.terminateThread(lost);
  for (let i = 0; i < 10; i += 1) expect(await reachThread(system, `${i}`)).not.toBe(lost);
  expect(parent.signal.aborted).toBe(false);
});

test('every ask to a lost thread fails at once, from here and from other threads, the held ones too', async () => {
  const system = await openSystem();
  const gate = await openGate(system);
  const scribe = system.spawn(
    scribeActor,
    { gate: gate.address },
    { id: 'scribe', restart: 'temporary', ...onThread('one') },
  );
  const counter = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'counter', restart: 'temporary', ...onThread('one') },
  );
  const to = await counter.ask('whereabouts', {});
  const sender = system.spawn(senderActor, { name: 'b' }, { id: 'b', ...onThread('two') });
  await gate.arrived(1);
  const pending = [
    scribe.ask('lines', {}, { deadlineMs: 600_000 }),
    counter.ask('never', {}, { deadlineMs: 600_000 }),
    sender.ask('pend', to, { deadlineMs: 600_000 }),
  ];
  await expect.poll(() => counter.ask('asked', {})).toBe(2); // the sender's has arrived, too
  // More than the link takes at once, in the same turn as the end.
  for (let n = 0; n < 20_000; n += 1) counter.tell('add', 1);
  pending.push(counter.ask('total', {}, { deadlineMs: 600_000 }));
  await system.terminateThread(to.thread);
  const outcomes = await Promise.allSettled(pending);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
    Array(4).fill('actor_terminated'),
  );
  expect(gate.left).toEqual(['scribe']);
});

test('sent = handled + rejected + dead-lettered, across a lost thread too', async () => {
  const system = await openSystem();
  const gate = await openGate(system);
  const scribe = system.spawn(
    scribeActor,
    { gate: gate.address },
    { id: 'scribe', restart: 'temporary', ...onThread('one') },
  );
  const quick = system.spawn(scribeActor, {}, { id: 'quick', restart: 'temporary', ...onThread('one') });
  const sender = system.spawn(senderActor, { name: 'b' }, { id: 'b', ...onThread('two') });
  const to = await quick.ask('whereabouts', {});
  await gate.arrived(1);
  for (let n = 0; n < 100; n += 1) {
    quick.tell('write', { sender: 'test', n });
    scribe.tell('write', { sender: 'test', n }); // will be in its mailbox when its thread dies
  }
  await sender.ask('send', { to, count: 100 });
  await quick.ask('lines', {});
  const before = await settledSums(system);
  expect(before.queued).toBe(100);
  expect(before.handled + before.queued).toBe(before.sent);
  await system.terminateThread(to.thread);
  for (let n = 0; n < 10; n += 1) quick.tell('write', { sender: 'test', n });
  await sender.ask('send', { to, count: 10 });
  const { sent, handled, rejected, deadLettered, queued } = await settledSums(system);
  expect(handled + rejected + deadLettered + queued).toBe(sent);
  // What waited in the mailbox, what came too late, and the scribe's own question, which went to the gate.
  expect(deadLettered).toBeGreaterThanOrEqual(120);
  expect(deadLettered).toBeLessThan(130);
});

test('what a thread said before it died is heard', async () => {
  const system = await openSystem();
  const probe = openProbe(system);
  const teller = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'teller', restart: 'temporary', ...onThread('one') },
  );
  probe.watch(await teller.ask('whereabouts', {}));
  teller.tell('lastWords', probe.address);
  // In whichever order: the end is a signal, and a signal may overtake mail.
  const heard = await probe.take(2);
  expect(heard).toContain('farewell');
  expect(heard).toContainEqual(expect.objectContaining({ reason: expect.anything() }));
});

test('what a thread said before it left is heard by other workers too', async () => {
  const placement = 'dedicated';
  const behaviours = [foremanActor, counterActor];
  const faults = { delivery: { maxMs: 50, slow: { chance: 0, maxMs: 0 } } };
  // The news of the child's end and that of its thread's race to the foreman's thread.
  for (let seed = 1; seed <= 30; seed += 1) {
    const scenario = async ({ system }: Simulation): Promise<void> => {
      const foreman = system.spawn(foremanActor, undefined, { id: 'foreman', ...onThread('one') });
      const { reason } = await foreman.ask('outlive', { id: 'child', placement });
      expect(reason).toEqual({ kind: 'crashed', message: 'boom' });
    };
    const { failure } = await simulate(seed, scenario, { behaviours, faults });
    expect(failure, `seed ${seed}`).toBeNull();
  }
});

test('a child at the edge is killed with its parent on a lost thread', async () => {
  const system = await openSystem();
  const probe = openProbe(system);
  const parent = openParent(system);
  const { behaviour, args, options } = member(
    { id: 'worker', probe: probe.address },
    { ...onThread('one'), restart: 'temporary' },
  );
  parent.spawn(behaviour, args, options);
  await parent.childStarted('worker');
  const worker = system.named(memberProtocol, 'worker');
  await worker.ask('adoptAtEdge', { id: 'at edge', probe: probe.address });
  const adopted = await system.named(memberProtocol, 'at edge').ask('whereabouts', {});
  expect(adopted.thread).toBe(0);
  probe.watch(adopted);
  await system.terminateThread((await worker.ask('whereabouts', {})).thread);
  expect(await probe.take(3)).toEqual([
    'worker starts',
    'at edge starts',
    expect.objectContaining({ reason: { kind: 'killed' } }),
  ]);
  await expect(system.named(memberProtocol, 'at edge').ask('whereabouts', {})).rejects.toMatchObject({
    code: 'actor_unavailable',
  });
});

test('a thread that cannot start fails what was placed on it, up to the root', async () => {
  const module = new URL('../../support/dying-bootstrap.ts', import.meta.url).href;
  const children = [
    { behaviour: counterActor, args: { start: 0 }, options: { id: 'counter', ...onThread('one') } },
  ];
  const supervision = {
    intensity: { restartsMax: 1, withinMs: 60_000 },
    backoff: { initialMs: 0, maxMs: 0 },
  };
  const started = openSystem({
    children,
    supervision,
    threads: { spare: true, bootstrap: { module, data: 'throw' } },
  });
  await expect(started).rejects.toThrow('this bootstrap dies as told');
});

test('a main thread that was busy for long does not take its workers for stuck', async () => {
  const system = await openSystem({ threads: { heartbeatMs: 50, stuckMs: 1_000 } });
  const counter = system.spawn(
    counterActor,
    { start: 3 },
    { id: 'counter', restart: 'temporary', ...onThread('one') },
  );
  expect(await counter.ask('total', {})).toBe(3);
  // Blocks this thread, and this thread only.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
  expect(await counter.ask('total', {})).toBe(3);
  await settledSums(system);
  expect(await counter.ask('total', {})).toBe(3);
});
