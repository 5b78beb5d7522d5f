// Drain: an actor takes no more mail, finishes what has come, and stops then; within a bound.

import { describe, expect, test } from 'vitest';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { ManualClock, openProbe } from '../../src/supervisor/testkit/index.ts';
import { on, openSystem, settledSums, TRANSPORTS } from '../support/actor-system.ts';
import { finisherActor } from '../support/finisher-actor.ts';
import { openGate } from '../support/gate.ts';
import { openParent } from '../support/parent.ts';

describe.each(TRANSPORTS)('a drained child on %s', (transport) => {
  test('handles what has come, refuses what comes, and stops', async () => {
    const system = await openSystem();
    const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
    const args = { id: 'child', probe: probe.address, gate: gate.address, startsAtGate: true };
    const child = parent.spawn(finisherActor, args, on(transport, { id: 'child' }));
    await gate.arrived(1);
    for (let n = 1; n <= 3; n += 1) child.tell('job', n);
    const stopped = parent.stopChild('child', { drain: true });
    await expect(child.ask('wait', 0)).rejects.toMatchObject({ code: 'actor_terminated' });
    child.tell('job', 4);
    gate.open();
    await stopped;
    const { sent, handled, rejected, deadLettered, queued } = await settledSums(system);
    expect(probe.received).toEqual(['child did 1', 'child did 2', 'child did 3', 'child stops']);
    expect({ rejected, deadLettered, queued }).toEqual({ rejected: 0, deadLettered: 2, queued: 0 });
    expect(handled + deadLettered).toBe(sent);
  });

  test('handles all that its parent has sent, more than the way there takes at once', async () => {
    const system = await openSystem();
    const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
    const args = { id: 'child', probe: probe.address, gate: gate.address };
    const child = parent.spawn(finisherActor, args, on(transport, { id: 'child' }));
    for (let n = 1; n <= 10_000; n += 1) child.tell('job', n);
    await parent.stopChild('child', { drain: true });
    expect((await probe.take(10_001)).at(-1)).toBe('child stops');
    expect((await settledSums(system)).deadLettered).toBe(0);
  });

  test('waits for open calls, pipes and background work, and drains its own children in its turn', async () => {
    const system = await openSystem();
    const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
    const args = { id: 'child', probe: probe.address, gate: gate.address };
    const child = parent.spawn(finisherActor, args, on(transport, { id: 'child', drain: true }));
    const grandchild = system.refTo(
      finisherActor.protocol,
      await child.ask('employ', { ...args, id: 'grandchild' }),
    );
    const answers = [child.ask('wait', 1), grandchild.ask('wait', 2)];
    child.tell('later', 3);
    await gate.arrived(4);
    const stopped = parent.stopChild('child'); // drained, as its options say
    gate.open();
    expect(await Promise.all(answers)).toEqual([1, 2]);
    await stopped;
    await settledSums(system);
    expect(probe.received.slice().sort()).toEqual([
      'child answers 1',
      'child got 3',
      'child stops',
      'child worked on 3',
      'grandchild answers 2',
      'grandchild stops',
    ]);
    expect(probe.received.slice(-2)).toEqual(['grandchild stops', 'child stops']);
  });

  test('is stopped as usual when it takes too long', async () => {
    const system = await openSystem();
    const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
    const args = { id: 'child', probe: probe.address, gate: gate.address };
    const child = parent.spawn(finisherActor, args, on(transport, { id: 'child', shutdownMs: 50 }));
    const asked = expect(child.ask('wait', 1)).rejects.toMatchObject({ code: 'actor_terminated' });
    await gate.arrived(1);
    await parent.stopChild('child', { drain: true });
    await asked;
    expect(await probe.next()).toBe('child stops');
    expect(gate.left).toEqual(['child']);
  });
});

test('a system drains every actor before it stops, whatever its supervisor knows of it', async () => {
  const system = await openSystem();
  const [probe, gate] = [openProbe(system), await openGate(system)];
  const args = { probe: probe.address, gate: gate.address };
  const here = system.spawn(finisherActor, { ...args, id: 'here' }, { id: 'here' });
  const there = system.spawn(
    finisherActor,
    { ...args, id: 'there' },
    { id: 'there', placement: { thread: 'one' } },
  );
  const answers = [here.ask('wait', 1), there.ask('wait', 2)];
  await gate.arrived(2);
  const stopped = system.stop({ drainMs: 60_000 });
  gate.open();
  expect(await Promise.all(answers)).toEqual([1, 2]);
  await stopped;
  expect(system.threads()).toEqual([]);
});

test.each([
  ['once drainMs have passed', (clock: ManualClock) => clock.advance(100)],
  ['by another stop', (_clock: ManualClock, stop: () => Promise<void>) => void stop()],
])('the drain of a system is ended %s, and leaves no timer', async (_when, end) => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const [probe, gate] = [openProbe(system), await openGate(system)];
  const args = { id: 'here', probe: probe.address, gate: gate.address };
  const here = system.spawn(finisherActor, args, { id: 'here', shutdownMs: Number.POSITIVE_INFINITY });
  const inner = await here.ask('employ', { ...args, id: 'inner' });
  const asked = expect(
    system.refTo(finisherActor.protocol, inner).ask('wait', 1, { deadlineMs: 60_000 }),
  ).rejects.toMatchObject({ code: 'actor_terminated' });
  await gate.arrived(1);
  const stopped = system.stop({ drainMs: 100 });
  await clock.advance(50);
  expect(system.actors().map(({ path, state }) => `${path}: ${state}`)).toContain('here/inner: draining');
  await end(clock, () => system.stop());
  await asked;
  await stopped;
  expect(clock.timers).toBe(0);
});

test('an actor that has nothing to do stops at once when it is drained, and one that is starting once it has', async () => {
  const system = await openSystem();
  const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
  const args = { probe: probe.address, gate: gate.address };
  const idle = parent.spawn(finisherActor, { ...args, id: 'idle' }, { id: 'idle' });
  await idle.ask('whereabouts', {});
  await parent.stopChild('idle', { drain: true });
  parent.spawn(finisherActor, { ...args, id: 'starting', startsAtGate: true }, { id: 'starting' });
  await gate.arrived(1);
  const stopped = parent.stopChild('starting', { drain: true });
  gate.open();
  await stopped;
  await expect.poll(() => probe.received).toEqual(['idle stops', 'starting stops']);
});

test('an actor that was suspended while it was drained stops as soon as it is resumed', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock });
  const [probe, gate, parent] = [openProbe(system), await openGate(system), openParent(system)];
  const args = { id: 'child', probe: probe.address, gate: gate.address };
  parent.spawn(finisherActor, args, { id: 'child' });
  await system.introspection.suspend('parent/child');
  const stopped = parent.stopChild('child', { drain: true });
  await system.introspection.resume('parent/child');
  await stopped;
  expect(probe.received).toEqual(['child stops']);
  await system.stop();
});
