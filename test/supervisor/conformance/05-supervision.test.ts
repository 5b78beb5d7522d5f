// Promise 5: supervision as in OTP. Parents live on the main thread, their children where the transport says.

import { describe, expect, test } from 'vitest';
import type { RandomSource } from '../../../src/std/ids.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import type { SupervisionStrategy } from '../../../src/supervisor/actor.ts';
import { type Address, protocol, type Ref } from '../../../src/supervisor/protocol.ts';
import { SUPERVISION_DEFAULT } from '../../../src/supervisor/supervision.ts';
import { supervise } from '../../../src/supervisor/supervisor.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { loopTurn, ManualClock, openProbe, type Probe } from '../../../src/supervisor/testkit/index.ts';
import { onThread, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { openGate } from '../../support/gate.ts';
import { member, memberProtocol } from '../../support/member-actor.ts';
import { openParent } from '../../support/parent.ts';

/** Jitter is `0.5 + float`: with this one a delay is what the supervision says. */
const noJitter: RandomSource = { ...seededRandom(1), float: () => 0.5 };

describe.each(TRANSPORTS)('5, supervision of children on %s', (transport) => {
  const here = transport === 'the same thread' ? {} : onThread('one');
  const named = (system: ActorSystem, id: string): Ref<typeof memberProtocol> =>
    system.named(memberProtocol, id);

  /** The address of the member, as soon as it has started again. */
  async function reach(system: ActorSystem, id: string): Promise<Address> {
    const ask = (): Promise<Address | null> =>
      named(system, id)
        .ask('whereabouts', {})
        .catch(() => null);
    let address = await ask();
    for (; address === null; address = await ask()) await loopTurn();
    return address;
  }

  /** A supervisor with the members a, b and c; resolves when all have started. */
  async function openFamily(strategy: SupervisionStrategy): Promise<{ system: ActorSystem; probe: Probe }> {
    const system = await openSystem();
    const probe = openProbe(system);
    const members = ['a', 'b', 'c'].map((id) => member({ id, probe: probe.address }, here));
    const { behaviour, args, options } = supervise({ id: 'family' }, members, { strategy });
    const parent = openParent(system);
    parent.spawn(behaviour, args, options);
    await parent.childStarted('family');
    expect(await probe.take(3)).toEqual(['a starts', 'b starts', 'c starts']);
    return { system, probe };
  }

  test('children start in order, each when the one before it has started, and stop in reverse', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const startGate = await openGate(system, 'start');
    const stopGate = await openGate(system, 'stop');
    const { behaviour, args, options } = supervise({ id: 'family' }, [
      member({ id: 'a', probe: probe.address, startGate: startGate.address }, here),
      member({ id: 'b', probe: probe.address, stopGate: stopGate.address }, here),
      member({ id: 'c', probe: probe.address }, here),
    ]);
    const parent = openParent(system);
    parent.spawn(behaviour, args, options);
    await startGate.arrived(1);
    expect(probe.received).toEqual(['a starts']);
    startGate.open();
    await parent.childStarted('family');
    const stopped = parent.stopChild('family');
    await stopGate.arrived(1);
    expect(await probe.take(5)).toEqual([
      'a starts',
      'b starts',
      'c starts',
      'c stops: stopped',
      'b stops: stopped',
    ]);
    expect(probe.received).toHaveLength(5);
    stopGate.open();
    await stopped;
    expect(await probe.next()).toBe('a stops: stopped');
  });

  test('a child that outlasts its shutdown deadline is killed, and the next one is stopped then', async () => {
    const clock = new ManualClock();
    const system = await openSystem({ clock });
    const probe = openProbe(system);
    const gate = await openGate(system);
    const slow = { ...here, shutdownMs: 5_000 };
    const { behaviour, args, options } = supervise({ id: 'family' }, [
      member({ id: 'a', probe: probe.address }, here),
      member({ id: 'b', probe: probe.address, stopGate: gate.address }, slow),
    ]);
    const parent = openParent(system);
    parent.spawn(behaviour, args, options);
    await parent.childStarted('family');
    probe.watch(await named(system, 'b').ask('whereabouts', {}));
    const stopped = parent.stopChild('family');
    await gate.arrived(1);
    await clock.advance(4_999);
    expect(await probe.take(3)).toEqual(['a starts', 'b starts', 'b stops: stopped']);
    expect(probe.received).toHaveLength(3);
    await clock.advance(1);
    expect(await probe.next()).toMatchObject({ reason: { kind: 'killed' } });
    expect(await probe.next()).toBe('a stops: stopped');
    await stopped;
  });

  test('one_for_one starts the crashed child again, and no other', async () => {
    const { system, probe } = await openFamily('one_for_one');
    named(system, 'b').tell('crash', 'boom');
    expect(await probe.take(2)).toEqual(['b stops: crashed', 'b starts']);
    named(system, 'a').tell('crash', 'boom');
    expect(await probe.take(2)).toEqual(['a stops: crashed', 'a starts']);
  });

  test('one_for_all stops the others in reverse and starts all in order', async () => {
    const { system, probe } = await openFamily('one_for_all');
    named(system, 'b').tell('crash', 'boom');
    expect(await probe.take(6)).toEqual([
      'b stops: crashed',
      'c stops: stopped',
      'a stops: stopped',
      'a starts',
      'b starts',
      'c starts',
    ]);
  });

  test('rest_for_one restarts the crashed child and those that started after it', async () => {
    const { system, probe } = await openFamily('rest_for_one');
    named(system, 'b').tell('crash', 'boom');
    expect(await probe.take(4)).toEqual(['b stops: crashed', 'c stops: stopped', 'b starts', 'c starts']);
  });

  test('a restart is a new incarnation: the old address is dead, the name follows', async () => {
    const { system, probe } = await openFamily('one_for_one');
    const before = await named(system, 'b').ask('whereabouts', {});
    named(system, 'b').tell('crash', 'boom');
    expect(await probe.take(2)).toEqual(['b stops: crashed', 'b starts']);
    await expect
      .poll(() =>
        named(system, 'b')
          .ask('whereabouts', {})
          .catch(() => before),
      )
      .not.toEqual(before);
    const old = system.refTo(memberProtocol, before);
    await expect(old.ask('whereabouts', {})).rejects.toMatchObject({ code: 'actor_terminated' });
  });

  test('transient children come back after a crash only, temporary ones never, permanent ones always', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const parent = openParent(system);
    for (const restart of ['permanent', 'transient', 'temporary'] as const) {
      const { behaviour, args, options } = member(
        { id: restart, probe: probe.address },
        { ...here, restart },
      );
      parent.spawn(behaviour, args, options);
      await parent.childStarted(restart);
    }
    await probe.take(3);
    named(system, 'permanent').tell('quit', {});
    expect(await probe.take(2)).toEqual(['permanent stops: stopped', 'permanent starts']);
    named(system, 'transient').tell('crash', 'boom');
    expect(await probe.take(2)).toEqual(['transient stops: crashed', 'transient starts']);
    await reach(system, 'transient');
    named(system, 'transient').tell('quit', {});
    expect(await probe.next()).toBe('transient stops: stopped');
    named(system, 'temporary').tell('crash', 'boom');
    expect(await probe.next()).toBe('temporary stops: crashed');
    // Both ids are free again once the parent has forgotten the children.
    for (const id of ['transient', 'temporary']) {
      await expect(parent.childStarted(id)).rejects.toThrow('ended');
      const { behaviour, args, options } = member({ id, probe: probe.address }, here);
      parent.spawn(behaviour, args, options);
      expect(await probe.next()).toBe(`${id} starts`);
    }
  });

  test('more restarts than the intensity allows fail the supervisor, which its own parent restarts', async () => {
    const clock = new ManualClock();
    const system = await openSystem({ clock });
    const probe = openProbe(system);
    const { behaviour, args, options } = supervise(
      { id: 'family' },
      [member({ id: 'a', probe: probe.address }, here), member({ id: 'b', probe: probe.address }, here)],
      { intensity: { restartsMax: 2, withinMs: 1_000 }, backoff: { initialMs: 0, maxMs: 0 } },
    );
    const parent = openParent(system);
    parent.spawn(behaviour, args, options);
    await parent.childStarted('family');
    await probe.take(2);
    const crash = async (): Promise<unknown> => {
      await reach(system, 'a');
      named(system, 'a').tell('crash', 'boom');
      return probe.take(2);
    };
    for (let i = 0; i < 2; i += 1) expect(await crash()).toEqual(['a stops: crashed', 'a starts']);
    await clock.advance(1_000); // both are forgiven
    for (let i = 0; i < 2; i += 1) expect(await crash()).toEqual(['a stops: crashed', 'a starts']);
    expect(await crash()).toEqual(['a stops: crashed', 'b stops: stopped']);
    expect(await probe.take(2)).toEqual(['a starts', 'b starts']);
    await expect.poll(() => system.actors().find(({ path }) => path === 'parent/family')?.restarts).toBe(1);
    expect(system.actors().find(({ path }) => path === 'parent/family')?.lastFailure).toContain(
      'more than 2 restarts',
    );
  });

  test('a failure that nobody mends ends the system, and says why', async () => {
    const system = await openSystem({ supervision: { intensity: { restartsMax: 0, withinMs: 1_000 } } });
    const probe = openProbe(system);
    const { behaviour, args, options } = member({ id: 'a', probe: probe.address }, here);
    const a = system.spawn(behaviour, args, options) as Ref<typeof memberProtocol>;
    a.tell('crash', 'boom');
    expect(await system.terminated).toMatchObject({
      kind: 'crashed',
      message: expect.stringContaining('boom'),
    });
  });

  test('restarts wait longer each time, up to a maximum, and not at all after a quiet time', async () => {
    const clock = new ManualClock();
    const system = await openSystem({ clock, random: noJitter });
    const probe = openProbe(system);
    const parent = openParent(system);
    parent.supervise({
      ...SUPERVISION_DEFAULT,
      intensity: { restartsMax: 10, withinMs: 60_000 },
      backoff: { initialMs: 0, maxMs: 300 },
    });
    const { behaviour, args, options } = member({ id: 'a', probe: probe.address }, here);
    parent.spawn(behaviour, args, options);
    expect(await probe.next()).toBe('a starts');
    const crash = async (): Promise<void> => {
      probe.watch(await reach(system, 'a'));
      named(system, 'a').tell('crash', 'boom');
      expect(await probe.take(2)).toContainEqual('a stops: crashed');
    };
    for (const delayMs of [0, 50, 100, 200, 300, 300]) {
      await crash();
      const before = probe.received.length;
      if (delayMs > 0) {
        await clock.advance(delayMs - 1);
        expect(probe.received).toHaveLength(before);
        await clock.advance(1);
      }
      expect(await probe.next()).toBe('a starts');
    }
    await clock.advance(60_000);
    await crash();
    expect(await probe.next()).toBe('a starts');
  });
});

describe.each(TRANSPORTS)('5, the end of an actor on %s', (transport) => {
  const here = transport === 'the same thread' ? {} : onThread('one');

  test('a stop during a setup waits for it, and runs what it left to clean up', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const gate = await openGate(system);
    const parent = openParent(system);
    const { behaviour, args, options } = member(
      { id: 'a', probe: probe.address, startGate: gate.address },
      here,
    );
    parent.spawn(behaviour, args, options);
    await gate.arrived(1);
    const started = parent.childStarted('a');
    const stopped = parent.stopChild('a');
    await expect(started).rejects.toThrow('ended while it was starting');
    await stopped;
    // Its question to the gate was cancelled by its end, so its setup failed; nothing was left to clean up.
    expect(gate.left).toEqual(['a starts']);
    expect(probe.received).toEqual(['a starts']);
  });

  test('a crash whose stop hook hangs is a kill at the shutdown deadline, and is restarted', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const gate = await openGate(system);
    const parent = openParent(system);
    const { behaviour, args, options } = member(
      { id: 'a', probe: probe.address, stopGate: gate.address },
      { ...here, shutdownMs: 30 },
    );
    const a = parent.spawn(behaviour, args, options) as Ref<typeof memberProtocol>;
    probe.watch(await a.ask('whereabouts', {}));
    a.tell('crash', 'boom');
    expect(await probe.take(3)).toEqual([
      'a starts',
      'a stops: crashed',
      expect.objectContaining({ reason: { kind: 'crashed', message: 'boom' } }),
    ]);
    expect(await probe.next()).toBe('a starts');
  });

  test('terminating is absorbing: whatever else happens, it ends once, and stays ended', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const gate = await openGate(system);
    const parent = openParent(system);
    const { behaviour, args, options } = member(
      { id: 'a', probe: probe.address, stopGate: gate.address },
      here,
    );
    const a = parent.spawn(behaviour, args, options) as Ref<typeof memberProtocol>;
    const address = await a.ask('whereabouts', {});
    probe.watch(address);
    a.tell('crashLater', 'too late');
    a.tell('quit', {});
    a.tell('crash', 'later still');
    const stopped = parent.stopChild('a');
    await gate.arrived(1);
    expect(a.tell('crash', 'dead')).toBeTypeOf('boolean');
    await expect(a.ask('whereabouts', {})).rejects.toMatchObject({ code: 'actor_terminated' });
    gate.open();
    await stopped;
    expect(await probe.take(3)).toEqual([
      'a starts',
      expect.stringMatching(/^a stops/),
      expect.objectContaining({ address }),
    ]);
    await expect(system.refTo(memberProtocol, address).ask('whereabouts', {})).rejects.toMatchObject({
      code: 'actor_terminated',
    });
    expect(probe.received).toHaveLength(3);
  });

  test('a name is taken by one actor at a time, wherever the second one starts', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const parent = openParent(system);
    const bearer = system.named(memberProtocol, 'the name');
    const first = member({ id: 'first', probe: probe.address }, { ...here, name: 'the name' });
    parent.spawn(first.behaviour, first.args, first.options);
    await parent.childStarted('first');
    const where = await bearer.ask('whereabouts', {});
    for (const elsewhere of [{}, onThread('one'), onThread('two')]) {
      const options = { ...elsewhere, name: 'the name', restart: 'temporary' } as const;
      const second = member({ id: 'second', probe: probe.address }, options);
      parent.spawn(second.behaviour, second.args, second.options);
      await expect(parent.childStarted('second')).rejects.toThrow('the name the name is taken');
      expect(await bearer.ask('whereabouts', {})).toEqual(where);
    }
  });
});

test('of two actors that take a name on two threads at the same time, one keeps it and the other crashes', async () => {
  const system = await openSystem();
  const probe = openProbe(system);
  const parent = openParent(system);
  const [x, y] = ['x', 'y'].map((id) => {
    const options = { ...onThread(id), name: 'the name', restart: 'temporary' } as const;
    const spec = member({ id, probe: probe.address }, options);
    return parent.spawn(spec.behaviour, spec.args, spec.options) as Ref<typeof memberProtocol>;
  });
  const reasons: unknown[] = [];
  for (const ref of [x, y]) {
    if (ref !== undefined) parent.watch(ref, ({ reason }) => reasons.push(reason));
  }
  // Two threads start meanwhile.
  await expect.poll(() => reasons).toEqual([{ kind: 'crashed', message: 'the name the name is taken' }]);
  const alive = await Promise.allSettled([x?.ask('whereabouts', {}), y?.ask('whereabouts', {})]);
  const kept = alive.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(kept).toHaveLength(1);
  expect(await system.named(memberProtocol, 'the name').ask('whereabouts', {})).toEqual(kept[0]);
});

test('an actor that is stopping starts no more children, and runs no more callbacks', async () => {
  const clock = new ManualClock();
  const system = await openSystem({ clock });
  const parent = openParent(system);
  const ran: string[] = [];
  parent.after('timer', 10, () => ran.push('timer'));
  parent.stopSelf();
  // Queued behind the stop: the end comes first.
  parent.watch({ thread: 0, actor: 987_654, path: 'nobody' }, () => ran.push('watch'));
  parent.pipe(Promise.resolve(), () => ran.push('pipe'));
  await clock.advance(20);
  expect(ran).toEqual([]);
  expect(parent.signal.aborted).toBe(true);
  const nothing = { module: '', exportName: '', protocol: protocol('nothing', {}), setup: () => ({}) };
  expect(() => parent.spawn(nothing, undefined, { id: 'late' })).toThrow('starts no more children');
});
