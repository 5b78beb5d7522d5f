// Timers: keyed ones and the receive timeout. All of them end with their incarnation.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { ManualClock, openProbe } from '../../src/supervisor/testkit/index.ts';
import { on, openSystem, TRANSPORTS } from '../support/actor-system.ts';
import { clerkActor, clerkProtocol } from '../support/clerk-actor.ts';
import { openParent } from '../support/parent.ts';

test('a receive timeout counts from the last message, and fires again while none comes', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const probe = openProbe(system);
  const clerk = system.spawn(clerkActor, undefined, { id: 'clerk' });
  await clerk.ask('await', { idleMs: 100, probe: probe.address });
  await clock.advance(99);
  clerk.tell('file', 1); // set aside, and yet it has come
  await clock.advance(99);
  expect(probe.received).toEqual([]);
  await clerk.ask('served', {});
  await clock.advance(99);
  expect(probe.received).toEqual([]);
  await clock.advance(1);
  expect(probe.received).toEqual(['idle']);
  await clock.advance(200);
  expect(probe.received).toEqual(['idle', 'idle', 'idle']);
  await clerk.ask('relax', {});
  await clock.advance(1_000);
  expect(probe.received).toHaveLength(3);
  await system.stop();
  expect(clock.timers).toBe(0);
});

test('a receive timeout is replaced by the next one, and is not moved by timers and piped results', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const parent = openParent(system);
  const fired: string[] = [];
  parent.receiveTimeout(10, () => fired.push('replaced'));
  parent.receiveTimeout(100, () => fired.push('idle'));
  parent.every('tick', 30, () => parent.pipe(Promise.resolve(), () => undefined));
  await clock.advance(100);
  expect(fired).toEqual(['idle']);
  await system.stop();
  expect(parent.receiveTimeout(10, () => fired.push('late'))).toBeTypeOf('function');
  expect(clock.timers).toBe(0);
});

test('a timer that is set again under its key replaces the first, and a cancelled one does not fire', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const parent = openParent(system);
  const fired: string[] = [];
  parent.after('one', 10, () => fired.push('first'));
  parent.after('one', 20, () => fired.push('second'));
  const cancel = parent.every('two', 5, () => fired.push('every'));
  await clock.advance(11);
  cancel();
  await clock.advance(100);
  expect(fired).toEqual(['every', 'every', 'second']);
  await system.stop();
});

test('what once cancelled a repeated timer does nothing to the next one under its key', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const parent = openParent(system);
  const fired: string[] = [];
  const cancel = parent.every('key', 10, () => fired.push('first'));
  parent.after('key', 20, () => fired.push('second'));
  cancel();
  await clock.advance(100);
  expect(fired).toEqual(['second']);
  await system.stop();
});

test('a receive timeout that was replaced is not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const parent = openParent(await openSystem());
  const set = (): WeakRef<object> => {
    const fire = (): void => undefined;
    parent.receiveTimeout(60_000, fire);
    return new WeakRef(fire);
  };
  const replaced = set();
  set();
  await expect
    .poll(() => {
      collectGarbage();
      return replaced.deref() === undefined;
    })
    .toBe(true);
});

describe.each(TRANSPORTS)('the timers of an actor on %s', (transport) => {
  test('end with it, and the next incarnation has none', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const options = on(transport, { id: 'clerk', name: 'clerk', restart: 'permanent' });
    const parent = openParent(system);
    const first = parent.spawn(clerkActor, undefined, options);
    await first.ask('tick', probe.address);
    await probe.take(3);
    probe.watch(await first.ask('whereabouts', {}));
    first.tell('crash', 'boom');
    let last = await probe.next();
    while (typeof last === 'string') last = await probe.next();
    const next = system.named(clerkProtocol, 'clerk');
    await expect.poll(() => next.ask('served', {}).catch(() => null)).toEqual([]);
    const before = probe.received.length;
    // A timer of its own that is much longer than theirs: had they gone on, they would have been heard by then.
    await next.ask('await', { idleMs: 20, probe: probe.address });
    // The last words of the first one may wait to be taken.
    await expect.poll(() => probe.received.slice(before)).toContain('idle');
    expect(new Set(probe.received.slice(before))).toEqual(new Set(['idle']));
  });
});
