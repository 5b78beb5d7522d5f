// Links: actors that go down together. One of each pair lives on the transport's thread, the other one elsewhere.

import { describe, expect, test } from 'vitest';
import type { Terminated } from '../../src/supervisor/actor.ts';
import type { Address, Ref } from '../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../src/supervisor/system.ts';
import { openProbe, type Probe } from '../../src/supervisor/testkit/index.ts';
import { on, onThread, openSystem, TRANSPORTS, type Transport } from '../support/actor-system.ts';
import { linkerActor, type linkerProtocol } from '../support/linker-actor.ts';
import { openParent } from '../support/parent.ts';

interface Linker {
  readonly ref: Ref<typeof linkerProtocol>;
  readonly address: Address;
}

/** `count` linkers: on the main thread, or on worker threads of their own; the probe watches them all. */
async function openLinkers(
  system: ActorSystem,
  transport: Transport,
  count: number,
): Promise<{ readonly linkers: readonly Linker[]; readonly probe: Probe }> {
  const probe = openProbe(system);
  const linkers: Linker[] = [];
  for (let i = 0; i < count; i += 1) {
    const options =
      transport === 'the same thread'
        ? on(transport, { id: `${i}` })
        : { id: `${i}`, ...onThread(`${i % 2}`) };
    const ref = system.spawn(linkerActor, undefined, { restart: 'temporary', ...options });
    linkers.push({ ref, address: await ref.ask('whereabouts', {}) });
  }
  for (const { address } of linkers) probe.watch(address);
  return { linkers, probe };
}

function pair({ linkers: [a, b] }: { readonly linkers: readonly Linker[] }): readonly [Linker, Linker] {
  if (a === undefined || b === undefined) throw new Error('two linkers were asked for');
  return [a, b];
}

async function ends(probe: Probe, count: number): Promise<readonly unknown[]> {
  const all = (await probe.take(count)) as readonly Terminated[];
  return all
    .toSorted((one, other) => one.address.path.localeCompare(other.address.path))
    .map(({ reason }) => reason);
}

const BOOM = { kind: 'crashed', message: 'boom' };

describe.each(TRANSPORTS)('actors on %s that are linked', (transport) => {
  test.each(['the one that linked', 'the one that was linked to'])('crash when %s does', async (who) => {
    const system = await openSystem();
    const opened = await openLinkers(system, transport, 2);
    const [a, b] = pair(opened);
    await a.ref.ask('link', b.address);
    (who === 'the one that linked' ? a : b).ref.tell('crash', 'boom');
    expect(await ends(opened.probe, 2)).toEqual([BOOM, BOOM]);
  });

  test('live on when one of them ends normally', async () => {
    const system = await openSystem();
    const opened = await openLinkers(system, transport, 2);
    const [a, b] = pair(opened);
    await a.ref.ask('link', b.address);
    b.ref.tell('stop', {});
    expect(await opened.probe.next()).toMatchObject({ reason: { kind: 'stopped' } });
    // The link frames go ahead of this question and its answer.
    expect(await a.ref.ask('whereabouts', {})).toEqual(a.address);
    a.ref.tell('stop', {});
    expect(await opened.probe.next()).toMatchObject({ reason: { kind: 'stopped' } });
  });

  test('live on after an unlink, and crash together after a new link', async () => {
    const system = await openSystem();
    const opened = await openLinkers(system, transport, 3);
    const [a, b] = pair(opened);
    const c = opened.linkers[2] ?? a;
    await a.ref.ask('link', b.address);
    await a.ref.ask('unlink', b.address);
    b.ref.tell('crash', 'boom');
    expect(await ends(opened.probe, 1)).toEqual([BOOM]);
    expect(await a.ref.ask('whereabouts', {})).toEqual(a.address);
    await a.ref.ask('link', c.address);
    await a.ref.ask('unlink', c.address);
    await a.ref.ask('link', c.address);
    c.ref.tell('crash', 'boom');
    expect(await ends(opened.probe, 2)).toEqual([BOOM, BOOM]);
  });

  test('go down once around a circle, each with the reason of the first', async () => {
    const system = await openSystem();
    const { linkers, probe } = await openLinkers(system, transport, 4);
    for (const [i, { ref }] of linkers.entries()) {
      const next = linkers[(i + 1) % linkers.length];
      if (next === undefined) continue;
      await ref.ask('link', next.address);
      await next.ref.ask('link', (linkers[i] ?? next).address); // both ways, and twice
    }
    linkers[2]?.ref.tell('crash', 'boom');
    expect(await ends(probe, 4)).toEqual([BOOM, BOOM, BOOM, BOOM]);
  });

  test('crash when they link to one that has ended already', async () => {
    const system = await openSystem();
    const opened = await openLinkers(system, transport, 2);
    const [a, b] = pair(opened);
    b.ref.tell('stop', {});
    await opened.probe.next();
    await a.ref.ask('link', b.address).catch(() => undefined);
    expect(await opened.probe.next()).toMatchObject({
      reason: { kind: 'crashed', message: expect.stringContaining('is not there') },
    });
  });
});

test('an actor crashes when the thread of the one that it is linked to is lost, whoever linked', async () => {
  const system = await openSystem();
  const { linkers, probe } = await openLinkers(system, 'a worker thread', 2);
  const [a, b] = pair({ linkers });
  const parent = openParent(system);
  const reasons: unknown[] = [];
  system.watch(parent.address, (reason) => reasons.push(reason));
  parent.link(b.ref);
  await a.ref.ask('link', b.address);
  b.ref.tell('exit', 1);
  const lost = expect.stringContaining('without a handshake');
  expect(await ends(probe, 2)).toEqual([
    { kind: 'crashed', message: lost },
    { kind: 'thread_lost', message: lost },
  ]);
  await expect.poll(() => reasons).toEqual([{ kind: 'crashed', message: lost }]);
});

test('an actor that was killed takes its linked ones down, and says so', async () => {
  const system = await openSystem();
  const linked = openParent(system, { id: 'linked' });
  const victim = openParent(system, { id: 'victim', shutdownMs: 5 });
  const reasons: unknown[] = [];
  system.watch(linked.address, (reason) => reasons.push(reason));
  linked.link(victim.address);
  victim.onStop(() => new Promise(() => undefined));
  victim.stopSelf();
  await expect
    .poll(() => reasons)
    .toEqual([{ kind: 'crashed', message: 'victim, which it is linked to, was killed' }]);
});

test('a name cannot be linked to', async () => {
  const system = await openSystem();
  const parent = openParent(system);
  const { protocol } = linkerActor;
  expect(() => parent.link(parent.named(protocol))).toThrow('a name cannot be linked');
});
