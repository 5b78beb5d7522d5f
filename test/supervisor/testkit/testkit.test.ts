// The test kit itself: a clock moved by hand, a seeded executor, a probe.

import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { ManualClock, openProbe, SeededExecutor } from '../../../src/supervisor/testkit/index.ts';
import { openSystem } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { openParent } from '../../support/parent.ts';

test('a manual clock fires timers in the order of their times, then of their age, and never a cancelled one', async () => {
  const clock = new ManualClock({ nowMs: 1_000 });
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name} at ${clock.monotonicMs()}`);
  clock.startTimer(20, note('late'));
  clock.startTimer(10, note('first'));
  clock.startTimer(10, note('second'));
  clock.startTimer(5, note('cancelled')).cancel();
  await clock.advance(9);
  expect(fired).toEqual([]);
  await clock.advance(100);
  expect(fired).toEqual(['first at 10', 'second at 10', 'late at 20']);
  expect([clock.nowMs(), clock.monotonicMs(), clock.timers]).toEqual([1_109, 109, 0]);
});

test('what a timer of an actor sets going falls due in turn, within one advance', async () => {
  const clock = new ManualClock();
  const system = await openSystem({ clock });
  const parent = openParent(system);
  const ticks: number[] = [];
  parent.every('tick', 100, () => ticks.push(clock.monotonicMs()));
  await clock.advance(1_000);
  expect(ticks).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
});

test('a seeded executor runs nothing by itself, and everything when it is told to', async () => {
  const executor = new SeededExecutor(seededRandom(1));
  const opening = createActorSystem({ executor });
  await executor.run();
  const system = await opening;
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter' });
  await executor.run();
  counter.tell('add', 1);
  const total = counter.ask('total', {});
  expect(system.actors().find(({ path }) => path === 'counter')?.mailboxLength).toBe(2);
  await executor.run();
  expect(await total).toBe(1);
  expect(executor.step()).toBe(false);
  const stopped = system.stop();
  await executor.run();
  await stopped;
});

test('a seeded executor does not run actors that keep each other busy for ever', async () => {
  const executor = new SeededExecutor(seededRandom(1));
  const opening = createActorSystem({ executor });
  await executor.run();
  const system = await opening;
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter' });
  counter.tell('churn', {});
  await expect(executor.run(100)).rejects.toThrow('still busy after 100 steps');
  const stopped = system.stop();
  await executor.run();
  await stopped;
});

test('a probe keeps what it gets, ends included, and lets a test await the next', async () => {
  const system = await openSystem();
  const probe = openProbe(system);
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', restart: 'temporary' });
  probe.watch(counter);
  const next = probe.next();
  probe.ref.tell('note', 'one');
  probe.ref.tell('note', 'two');
  expect(await next).toBe('one');
  expect(await probe.take(1)).toEqual(['two']);
  counter.tell('stop', {});
  expect(await probe.next()).toMatchObject({ address: { path: 'counter' }, reason: { kind: 'stopped' } });
  expect(probe.received).toHaveLength(3);
});
