// Routers: a pool of actors behind one address, on both transports.

import { describe, expect, test } from 'vitest';
import { present } from '../../../src/std/assert.ts';
import type { Placement } from '../../../src/supervisor/actor.ts';
import type { Address } from '../../../src/supervisor/protocol.ts';
import { type RouterOptions, router, routerProtocol } from '../../../src/supervisor/routing/router.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { onThread, openSystem, settledSums, TRANSPORTS, type Transport } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { eventually } from '../../support/eventually.ts';
import { openGate } from '../../support/gate.ts';
import { openParent } from '../../support/parent.ts';
import { type Line, scribeActor, scribeProtocol } from '../../support/scribe-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

function placed(transport: Transport): readonly Placement[] {
  return transport === 'the same thread' ? ['parent'] : [{ thread: 'one' }, { thread: 'two' }];
}

function openCounters(system: ActorSystem, options: RouterOptions) {
  const ref = system.spawn(...router(counterActor, { start: 0 }, options), {
    id: 'counters',
    restart: 'temporary',
  });
  return {
    ref,
    pool: system.refTo(routerProtocol, present(ref.address ?? undefined, 'the address of the router')),
  };
}

function openScribes(system: ActorSystem, options: RouterOptions) {
  const ref = system.spawn(...router(scribeActor, {}, options), { id: 'scribes', name: true });
  return { ref, pool: system.named(routerProtocol, 'scribe') };
}

/** What each routee wrote down, asked past the router. */
async function linesOfAll(system: ActorSystem, count: number): Promise<(readonly Line[])[]> {
  const ref = system.named(scribeProtocol);
  const homes = new Map<string, Address>();
  while (homes.size < count) {
    const home = await ref.ask('whereabouts', {});
    homes.set(home.path, home);
  }
  return Promise.all(
    Array.from(homes.values(), (home) => system.refTo(scribeProtocol, home).ask('lines', {})),
  );
}

describe.each(TRANSPORTS)('a router over actors on %s', (transport) => {
  const placements = placed(transport);

  test('gives each of them its turn', async () => {
    const system = await openSystem();
    const { ref } = openCounters(system, { strategy: 'round_robin', routees: 3, placements });
    const homes: string[] = [];
    for (let n = 0; n < 6; n += 1) homes.push((await ref.ask('whereabouts', {})).path);
    expect(homes).toEqual([0, 1, 2, 0, 1, 2].map((n) => `counters/${n}`));
  });

  test('passes on statements, questions, streams and faults, and is found by name', async () => {
    const system = await openSystem();
    system.spawn(...router(counterActor, { start: 0 }, { strategy: 'round_robin', routees: 2, placements }), {
      id: 'counters',
      name: true,
    });
    const ref = system.named(counterProtocol);
    await eventually(() => ref.ask('total', {}).catch(() => -1)).toBe(0);
    for (let n = 0; n < 10; n += 1) expect(ref.tell('add', 1)).toBe(true);
    expect(await Promise.all([ref.ask('total', {}), ref.ask('total', {})])).toEqual([5, 5]);
    const items: number[] = [];
    for await (const n of ref.stream('count', { to: 200 })) items.push(n);
    expect(items).toHaveLength(200);
    await expect(ref.ask('refuse', 'no')).rejects.toMatchObject({ code: 'counter_overflow' });
    const sums = await settledSums(system);
    expect(sums.sent).toBe(sums.handled + sums.deadLettered);
    expect(sums.queued).toBe(0);
  });

  test('an asker that gives up is heard by the actor that works for it', async () => {
    const system = await openSystem();
    const { ref, pool } = openCounters(system, { strategy: 'least_loaded', routees: 1, placements });
    const controller = new AbortController();
    const asking = ref.ask('never', {}, { signal: controller.signal });
    await eventually(() => ref.ask('asked', {})).toBe(1);
    controller.abort();
    await expect(asking).rejects.toMatchObject({ code: 'ask_cancelled' });
    await eventually(() => ref.ask('aborted', {})).toBe(1);
    await eventually(async () => (await pool.ask('$routees', {}))[0]?.load).toBe(0);
  });

  test('the least loaded gets the next message', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const { ref, pool } = openScribes(system, { strategy: 'least_loaded', routees: 3, placements });
    const busy = [ref.ask('waitAt', gate.address), ref.ask('waitAt', gate.address)];
    await gate.arrived(2);
    const homes = new Set<string>();
    for (let n = 0; n < 6; n += 1) homes.add((await ref.ask('whereabouts', {})).path);
    expect(homes.size).toBe(1);
    gate.open();
    await Promise.all(busy);
    for (let n = 0; n < 300; n += 1) ref.tell('write', { sender: 'test', n });
    const loads = async () => (await pool.ask('$routees', {})).map(({ load }) => load);
    await eventually(loads).toEqual([0, 0, 0]);
    const lines = await linesOfAll(system, 3);
    // They were told as many at once, before any was done with one.
    expect(lines.map(({ length }) => length)).toEqual([100, 100, 100]);
  });

  test('a key stays with its actor, and few keys move when the pool grows and shrinks', async () => {
    const system = await openSystem();
    const { ref, pool } = openScribes(system, {
      strategy: 'consistent_hash',
      keyOf: 'scribeKey',
      routees: 4,
      placements,
    });
    const keys = Array.from({ length: 200 }, (_, i) => `sender ${i}`);
    /** Each answers how many lines its actor has by now. */
    const homes = () => Promise.all(keys.map((sender) => ref.ask('record', { sender, n: 0 })));
    const first = await homes();
    expect(Math.max(...first)).toBeLessThan(120);
    expect(await pool.ask('$resize', { routees: 5 })).toEqual({ routees: 5 });
    const views = await pool.ask('$routees', {});
    expect(views.map(({ isUp }) => isUp)).toEqual([true, true, true, true, true]);
    const second = await homes();
    // A key that stayed has an actor that has lines of the first round already; those that moved begin anew.
    const moved = second.filter((count, i) => count <= (first[i] ?? 0)).length;
    expect(moved).toBeGreaterThan(5);
    expect(moved).toBeLessThan(90);
    await pool.ask('$resize', { routees: 1 });
    expect(new Set(await homes()).size).toBe(200);
    await expect(pool.ask('$resize', { routees: 0 })).rejects.toMatchObject({ code: 'pool_size_refused' });
  });

  test('a message without a key is refused, and costs the pool nothing', async () => {
    const system = await openSystem();
    const { ref } = openScribes(system, {
      strategy: 'consistent_hash',
      keyOf: 'scribeKey',
      routees: 2,
      placements,
    });
    expect(await ref.ask('record', { sender: 'a', n: 1 })).toBe(1);
    await expect(ref.ask('lines', {})).rejects.toMatchObject({ code: 'message_refused' });
    expect(await ref.ask('record', { sender: 'a', n: 2 })).toBe(2);
  });

  test('one that is down gets no mail until its successor is there: the others take it', async () => {
    const clock = new ManualClock();
    const system = await openSystem({ clock });
    const { ref, pool } = openCounters(system, {
      strategy: 'round_robin',
      routees: 3,
      placements,
      supervision: { backoff: { initialMs: 60_000, maxMs: 60_000 } },
    });
    ref.tell('crash', 'boom');
    const up = async () => (await pool.ask('$routees', {})).filter(({ isUp }) => isUp).length;
    await eventually(up).toBe(2);
    const homes: string[] = [];
    for (let n = 0; n < 4; n += 1) homes.push((await ref.ask('whereabouts', {})).path);
    expect([...new Set(homes)].sort()).toEqual(['counters/1', 'counters/2']);
    await clock.advance(120_000);
    await eventually(up).toBe(3);
    for (let n = 0; n < 3; n += 1) homes.push((await ref.ask('whereabouts', {})).path);
    expect(homes).toContain('counters/0');
  });

  test('the mail for a key whose actor is down is refused clearly, then its successor gets it', async () => {
    const clock = new ManualClock();
    const system = await openSystem({ clock });
    const { ref, pool } = openScribes(system, {
      strategy: 'consistent_hash',
      keyOf: 'scribeKey',
      routees: 1,
      placements,
      routee: { restart: 'permanent' },
      supervision: { backoff: { initialMs: 60_000, maxMs: 60_000 } },
    });
    expect(await ref.ask('record', { sender: 'a', n: 1 })).toBe(1);
    // With a sender, because the router needs a key for everything.
    expect(ref.tell('stop', { sender: 'a' } as never)).toBe(true);
    await eventually(async () => (await pool.ask('$routees', {}))[0]?.isUp).toBe(false);
    await expect(ref.ask('record', { sender: 'a', n: 2 })).rejects.toMatchObject({
      code: 'actor_unavailable',
      retryable: true,
    });
    expect(ref.tell('write', { sender: 'a', n: 3 })).toBe(false);
    expect(system.deadLetters().at(-1)).toMatchObject({ target: 'scribes', refusal: 'routee_down' });
    await clock.advance(120_000);
    await eventually(() => ref.ask('record', { sender: 'a', n: 4 }).catch(() => 0)).toBe(1);
  });

  test('too many restarts fail the router, as any supervisor', async () => {
    const system = await openSystem();
    const parent = openParent(system);
    const ref = parent.spawn(
      ...router(
        counterActor,
        { start: 0 },
        {
          strategy: 'round_robin',
          routees: 2,
          placements,
          supervision: { intensity: { restartsMax: 0, withinMs: 1_000 } },
        },
      ),
      { id: 'counters', restart: 'temporary' },
    );
    const ended = new Promise((resolve) => parent.watch(ref, ({ reason }) => resolve(reason)));
    ref.tell('crash', 'boom');
    expect(await ended).toMatchObject({ kind: 'crashed' });
    await expect(ref.ask('total', {})).rejects.toMatchObject({ code: 'actor_terminated' });
  });

  test('mail of several senders keeps its order at each actor while the pool is resized, and all of it is accounted for', async () => {
    const system = await openSystem();
    const { ref, pool } = openScribes(system, { strategy: 'least_loaded', routees: 2, placements });
    await eventually(async () => (await pool.ask('$routees', {}).catch(() => [])).length).toBe(2);
    const to = present(ref.address ?? undefined, 'the address of the router');
    const senders = [
      system.spawn(senderActor, { name: 'a' }, { id: 'a' }),
      system.spawn(senderActor, { name: 'b' }, { id: 'b', ...onThread('one') }),
      system.spawn(senderActor, { name: 'c' }, { id: 'c', ...onThread('three') }),
    ];
    const sending = Promise.all(
      senders.map((sender) => sender.ask('send', { to, count: 1_500, askEvery: 11 })),
    );
    await pool.ask('$resize', { routees: 4 });
    expect(await sending).toEqual([1_500, 1_500, 1_500]);
    const lines = await linesOfAll(system, 4);
    expect(lines.flat()).toHaveLength(4_500);
    for (const name of ['a', 'b', 'c']) {
      for (const written of lines) {
        const numbers = written.filter(({ sender }) => sender === name).map(({ n }) => n);
        expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      }
    }
    for (let n = 0; n < 400; n += 1) ref.tell('write', { sender: 'late', n });
    await pool.ask('$resize', { routees: 1 });
    const sums = await settledSums(system);
    expect(sums).toMatchObject({ rejected: 0, deadLettered: 0, queued: 0, sent: sums.handled });
  });
});

test('a router may live on another thread than who made it, and is told and asked from there', async () => {
  const system = await openSystem();
  system.spawn(...router(scribeActor, {}, { strategy: 'consistent_hash', keyOf: 'scribeKey', routees: 3 }), {
    id: 'scribes',
    name: true,
    ...onThread('one'),
  });
  const ref = system.named(scribeProtocol);
  await eventually(() => ref.ask('record', { sender: 'a', n: 0 }).catch(() => 0)).toBe(1);
  for (let n = 1; n < 50; n += 1) ref.tell('write', { sender: 'a', n });
  expect(await ref.ask('record', { sender: 'a', n: 50 })).toBe(51);
  const views = await system.named(routerProtocol, 'scribe').ask('$routees', {});
  expect(new Set(views.map(({ address }) => address?.thread)).size).toBe(1);
  expect(views[0]?.address?.thread).not.toBe(0);
});

/** Four counters, and the thread of the first: `lost` before long. */
async function openOnTwoThreads(system: ActorSystem) {
  const { ref, pool } = openCounters(system, {
    strategy: 'round_robin',
    routees: 4,
    placements: placed('a worker thread'),
  });
  const [first] = await pool.ask('$routees', {});
  return { ref, pool, lost: present(first?.address?.thread, 'the thread of the first routee') };
}

test('a lost thread takes only its own actors out of the pool, until they are back', async () => {
  const system = await openSystem();
  const { ref, pool, lost } = await openOnTwoThreads(system);
  await system.terminateThread(lost);
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => ref.ask('total', {})));
  expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
  await eventually(async () => (await pool.ask('$routees', {})).every(({ isUp }) => isUp)).toBe(true);
  expect((await pool.ask('$routees', {})).map(({ address }) => address?.thread)).not.toContain(lost);
});

test('a router gives no mail to a lost thread, even before it has come to hear of the loss', async () => {
  const system = await openSystem();
  const { ref, lost } = await openOnTwoThreads(system);
  // Whatever the router is told has to wait for its turn behind this.
  system.spawn(counterActor, { start: 0 }, { id: 'busy' }).tell('churn', {});
  await system.terminateThread(lost);
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => ref.ask('total', {})));
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
});
