// What can be asked of one actor, by path or by address, wherever it lives: state, suspension, trace.

import { describe, expect, test } from 'vitest';
import { type ActorContext, actor } from '../../../src/supervisor/actor.ts';
import type { TraceEvent } from '../../../src/supervisor/introspection/contract.ts';
import { protocol } from '../../../src/supervisor/protocol.ts';
import { on, onThread, openSystem, PATIENT, TRANSPORTS } from '../../support/actor-system.ts';
import { clerkActor } from '../../support/clerk-actor.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { openGate } from '../../support/gate.ts';
import { scribeActor } from '../../support/scribe-actor.ts';
import { showcaseActor } from '../../support/showcase-actor.ts';

describe.each(TRANSPORTS)('on %s', (transport) => {
  test('the state that its author exposes is read, as a copy', async () => {
    const system = await openSystem();
    const showcase = system.spawn(showcaseActor, undefined, on(transport, { id: 'showcase' }));
    showcase.tell('put', { key: 'colour', value: 'red' });
    const address = await showcase.ask('whereabouts', {});
    const state = (await system.introspection.getState('showcase')) as { shelf: Record<string, string> };
    expect(state).toEqual({ shelf: { colour: 'red' } });
    state.shelf['colour'] = 'blue';
    expect(await system.introspection.getState(address)).toEqual({ shelf: { colour: 'red' } });
  });

  test('a state that is not exposed, not plain, or throws is a fault, and costs the actor nothing', async () => {
    const system = await openSystem();
    const counter = system.spawn(counterActor, { start: 7 }, on(transport, { id: 'counter' }));
    const showcase = system.spawn(showcaseActor, undefined, on(transport, { id: 'showcase' }));
    await Promise.all([counter.ask('total', {}), showcase.ask('whereabouts', {})]);
    const look = (path: string): Promise<unknown> => system.introspection.getState(path);
    await expect(look('counter')).rejects.toMatchObject({ code: 'state_not_exposed' });
    await expect(look('nobody')).rejects.toMatchObject({ code: 'actor_not_found' });
    showcase.tell('expose', 'a function');
    await showcase.ask('whereabouts', {});
    await expect(look('showcase')).rejects.toMatchObject({ code: 'state_unreadable' });
    showcase.tell('expose', 'a failure');
    await showcase.ask('whereabouts', {});
    await expect(look('showcase')).rejects.toMatchObject({ code: 'state_unreadable' });
    expect(await counter.ask('total', {})).toBe(7);
  });

  test('a suspended actor keeps its mail, in order and bounded, and goes on when it is resumed', async () => {
    const system = await openSystem();
    const mailbox = { lengthMax: 3, whenFull: 'reject' } as const;
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe', mailbox }));
    await scribe.ask('lines', {});
    await system.introspection.suspend('scribe');
    for (let n = 0; n < 3; n += 1) scribe.tell('write', { sender: 'test', n });
    await expect(scribe.ask('lines', {})).rejects.toMatchObject({ code: 'mailbox_full' });
    expect((await system.introspection.snapshot(PATIENT)).actors.at(-1)).toMatchObject({
      state: 'suspended',
      mailboxLength: 3,
    });
    await system.introspection.suspend('scribe'); // twice is once
    await system.introspection.resume('scribe');
    await system.introspection.resume('scribe');
    expect((await scribe.ask('lines', {})).map(({ n }) => n)).toEqual([0, 1, 2]);
  });

  test('a suspended actor still obeys: it is stopped, and what it was asked fails at once', async () => {
    const system = await openSystem();
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    const address = await counter.ask('whereabouts', {});
    await system.introspection.suspend(address);
    const asked = counter.ask('total', {}, { deadlineMs: 600_000 });
    const ended = new Promise((resolve) => system.watch(address, resolve));
    await Promise.all([
      expect(asked).rejects.toMatchObject({ code: 'actor_terminated' }),
      ended,
      system.stop(),
    ]);
    await expect(ended).resolves.toMatchObject({ kind: 'stopped' });
  });

  test('a trace tells of each message its name, kind, duration and outcome, and ends with the actor', async () => {
    const system = await openSystem();
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    await counter.ask('total', {});
    const trace = system.introspection.trace('counter');
    const first = trace.next();
    // The trace is on as soon as the actor shows one of these.
    const events: TraceEvent[] = [];
    while (events.length === 0) {
      await counter.ask('asked', {});
      const arrived = await Promise.race([first, counter.ask('asked', {}).then(() => null)]);
      if (arrived?.done === false) events.push(...arrived.value.items);
    }
    counter.tell('add', 1);
    await counter.ask('refuse', 'no').catch(() => undefined);
    for await (const _n of counter.stream('count', { to: 2 }));
    counter.tell('crash', 'boom');
    for await (const { items, missed } of trace) {
      events.push(...items);
      expect(missed).toBe(0);
    }
    expect(events.filter(({ name }) => name !== 'asked')).toEqual([
      {
        atMs: expect.any(Number),
        name: 'add',
        kind: 'tell',
        durationMs: expect.any(Number),
        outcome: 'handled',
      },
      expect.objectContaining({ name: 'refuse', kind: 'call', outcome: 'fault' }),
      expect.objectContaining({ name: 'count', kind: 'stream', outcome: 'opened' }),
      expect.objectContaining({ name: 'crash', kind: 'tell', outcome: 'crashed' }),
    ]);
  });

  test('what is starting can be neither suspended nor traced', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    system.spawn(scribeActor, { gate: gate.address }, on(transport, { id: 'scribe' }));
    await gate.arrived(1);
    const refused = { code: 'actor_not_running' };
    await expect(system.introspection.suspend('scribe')).rejects.toMatchObject(refused);
    await expect(system.introspection.resume('scribe')).rejects.toMatchObject(refused);
    await expect(system.introspection.trace('scribe').next()).rejects.toMatchObject(refused);
  });
});

test('a message that is set aside is traced when it is handled', async () => {
  const system = await openSystem();
  const clerk = system.spawn(clerkActor, undefined, { id: 'clerk' });
  const trace = system.introspection.trace('clerk');
  const first = trace.next();
  await system.introspection.snapshot(PATIENT); // behind it
  clerk.tell('file', 1);
  const served = clerk.ask('serveLater', 2);
  clerk.tell('open', {});
  await served;
  clerk.tell('stop', {});
  const events: TraceEvent[] = [];
  for (let read = await first; read.done !== true; read = await trace.next())
    events.push(...read.value.items);
  const outcomes = events.map(({ name, outcome }) => `${name} ${outcome}`);
  expect(outcomes.toSorted()).toEqual(['file handled', 'open handled', 'serveLater handled', 'stop handled']);
});

test('a trace that is left takes nothing along, and a slow reader of one is told what it missed', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter' });
  const left = system.introspection.trace('counter');
  const slow = system.introspection.trace('counter');
  const first = slow.next();
  await system.introspection.snapshot(PATIENT); // behind the two
  await left.return?.();
  for (let n = 0; n < 2_000; n += 1) counter.tell('add', 1);
  expect(await counter.ask('total', {})).toBe(2_000);
  counter.tell('stop', {});
  let seen = 0;
  let missed = 0;
  for (let read = await first; read.done !== true; read = await slow.next()) {
    seen += read.value.items.length;
    missed += read.value.missed;
  }
  expect(seen + missed).toBe(2_002);
  expect(missed).toBeGreaterThan(0);
});

test('actors on the main thread look by their context, those on others cannot', async () => {
  const system = await openSystem();
  let context = null as ActorContext | null;
  const onlooker = actor({
    module: import.meta.url,
    exportName: '(closes over its test)',
    protocol: protocol('onlooker', {}),
    setup: (given) => {
      context = given;
      return {};
    },
  });
  system.spawn(onlooker, undefined, { id: 'onlooker' });
  expect((await context?.introspection.snapshot(PATIENT))?.totals.actors).toBe(2);
  const showcase = system.spawn(showcaseActor, undefined, {
    id: 'showcase',
    restart: 'temporary',
    ...onThread('one'),
  });
  expect(await showcase.ask('lookAround', {})).toContain('not on the main thread');
});
