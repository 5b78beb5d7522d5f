// Retirement: a thread that nears its heap limit is left before it dies of it (D5).

import { expect, test } from 'vitest';
import type { ChildOptions } from '../../../src/supervisor/actor.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { router } from '../../../src/supervisor/routing/router.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import {
  loopTurn,
  openProbe,
  type Probe,
  type Simulation,
  simulate,
} from '../../../src/supervisor/testkit/index.ts';
import { onThread, openSystem } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { foremanActor } from '../../support/foreman-actor.ts';
import { openGate } from '../../support/gate.ts';
import { hoarderActor, hoarderProtocol } from '../../support/hoarder-actor.ts';

const HEAP_MAX_MB = 160;
/** With what a thread needs anyway it is above the share of 85 %, and below what a collection in need would fail at. */
const HOARDED_BYTES = HEAP_MAX_MB * 2 ** 20 * 0.86;

interface World {
  readonly system: ActorSystem;
  readonly probe: Probe;
  spawn(id: string, options?: Partial<ChildOptions>): Ref<typeof hoarderProtocol>;
}

async function openWorld(retireMs = 60_000, heapRetireShare = 0.85): Promise<World> {
  const system = await openSystem({ threads: { heapMaxMb: HEAP_MAX_MB, retireMs, heapRetireShare } });
  const probe = openProbe(system);
  return {
    system,
    probe,
    spawn: (id, options = {}) =>
      system.spawn(
        hoarderActor,
        { id, probe: probe.address },
        { id, name: id, ...onThread('one'), ...options },
      ),
  };
}

/** Resolves when the thread has ended. */
async function gone(system: ActorSystem, thread: number): Promise<void> {
  while (system.threads().some((view) => view.thread === thread)) await loopTurn();
}

/** The thread of the registered actor, as soon as there is one. */
async function threadOf(system: ActorSystem, id: string): Promise<number> {
  const ref = system.named(hoarderProtocol, id);
  for (;;) {
    const found = await ref.ask('whereabouts', {}).catch(() => null);
    if (found !== null) return found.thread;
    await loopTurn();
  }
}

test('its restartable actors are drained and started again on a fresh thread, and it ends', async () => {
  const { system, probe, spawn } = await openWorld();
  const gate = await openGate(system);
  const first = spawn('first');
  const { thread } = await first.ask('whereabouts', {});
  await spawn('second', { restart: 'transient' }).ask('whereabouts', {});
  const asked = first.ask('wait', gate.address, { deadlineMs: 60_000 });
  await first.ask('hoard', HOARDED_BYTES);
  await expect.poll(() => system.threads().map(({ state }) => state)).toContain('retiring');
  gate.open();
  expect(await asked).toBe(true); // it was drained, not cut off
  await gone(system, thread);
  const places = [await threadOf(system, 'first'), await threadOf(system, 'second')];
  expect(places[0]).toBe(places[1]);
  expect(places[0]).not.toBe(thread);
  expect(probe.received.toSorted()).toEqual([
    ...['first hears of it', 'first starts', 'first starts', 'first stopped'],
    ...['second hears of it', 'second starts', 'second starts', 'second stopped'],
  ]);
});

test('temporary actors may finish, and whoever is above them waits for them; nothing new comes', async () => {
  const { system, probe, spawn } = await openWorld();
  const host = spawn('host');
  const worker = system.refTo(
    hoarderProtocol,
    await host.ask('employ', { id: 'worker', probe: probe.address }),
  );
  const guest = spawn('guest', { restart: 'temporary' });
  const { thread } = await guest.ask('whereabouts', {});
  await worker.ask('hoard', HOARDED_BYTES);
  while (!probe.received.includes('guest hears of it')) await probe.next();
  // The name is a fresh thread's already; the old one goes on.
  const late = spawn('late');
  expect((await late.ask('whereabouts', {})).thread).not.toBe(thread);
  expect((await worker.ask('whereabouts', {})).thread).toBe(thread);
  expect((await host.ask('whereabouts', {})).thread).toBe(thread);
  guest.tell('stop', {});
  worker.tell('stop', {});
  await gone(system, thread);
  expect(await threadOf(system, 'host')).not.toBe(thread);
  expect(probe.received.filter((note) => note === 'worker starts')).toHaveLength(1);
});

test('temporary actors that do not finish in time are stopped', async () => {
  const { system, probe, spawn } = await openWorld(100);
  const guest = spawn('guest', { restart: 'temporary' });
  const { thread } = await guest.ask('whereabouts', {});
  await guest.ask('hoard', HOARDED_BYTES);
  await gone(system, thread);
  await expect.poll(() => probe.received).toEqual(['guest starts', 'guest hears of it', 'guest stopped']);
});

test('a thread is let be when retirement is turned off', async () => {
  const { system, probe, spawn } = await openWorld(100, 1);
  const guest = spawn('guest');
  const { thread } = await guest.ask('whereabouts', {});
  await guest.ask('hoard', HOARDED_BYTES);
  const beats = new Set<unknown>();
  while (beats.size < 5) {
    beats.add(system.threads().find((view) => view.thread === thread)?.health);
    await loopTurn();
  }
  expect(system.threads().map(({ state }) => state)).toEqual(['ready']);
  expect(probe.received).toEqual(['guest starts']);
});

test('a router gives no mail to an actor that is being moved: the others take it', async () => {
  const scenario = async ({ system, threads, sleep }: Simulation): Promise<void> => {
    const [placements, routee] = [[{ thread: 'one' }, { thread: 'two' }], { shutdownMs: 60_000 }];
    const pool = router(
      counterActor,
      { start: 0 },
      { strategy: 'round_robin', routees: 2, placements, routee },
    );
    const ref = system.spawn(...pool, { id: 'counters' });
    const { thread } = await ref.ask('whereabouts', {});
    await ref.ask('whereabouts', {});
    // Its drain waits for this.
    const cut = ref.ask('never', {}, { deadlineMs: 120_000 }).catch(() => null);
    (threads()[thread] as { heapUsedBytes: number }).heapUsedBytes = Number.MAX_SAFE_INTEGER;
    while (!system.threads().some(({ state }) => state === 'retiring')) await sleep(10);
    await sleep(100);
    const answers = await Promise.all(Array.from({ length: 4 }, () => ref.ask('whereabouts', {})));
    expect(answers.map((address) => address.thread)).not.toContain(thread);
    await cut;
  };
  expect((await simulate(1, scenario, { behaviours: [counterActor] })).failure).toBeNull();
});

test('a thread that is being left is not ended by a parent that no longer wants a place there', async () => {
  const scenario = async ({ system, threads, sleep }: Simulation): Promise<void> => {
    const foreman = system.spawn(foremanActor, undefined, { id: 'foreman', ...onThread('one') });
    const options = { id: 'guest', restart: 'temporary', ...onThread('two') } as const;
    const guest = system.spawn(counterActor, { start: 7 }, options);
    const { thread } = await guest.ask('whereabouts', {});
    (threads()[thread] as { heapUsedBytes: number }).heapUsedBytes = Number.MAX_SAFE_INTEGER;
    // So often that one of them is on its way when it begins.
    for (let n = 0; !system.threads().some(({ state }) => state === 'retiring'); n += 1) {
      foreman.ask('regret', { id: `${n}`, ...onThread('two') }).catch(() => null);
      await sleep(1);
    }
    await sleep(1_000);
    expect(await guest.ask('total', {})).toBe(7);
  };
  const faults = { delivery: { maxMs: 5, slow: { chance: 0, maxMs: 0 } } };
  const { failure } = await simulate(1, scenario, { behaviours: [counterActor, foremanActor], faults });
  expect(failure).toBeNull();
});

test('what a thread could not collect while it was busy is counted once', async () => {
  const scenario = async ({ system, threads, pauseThread, sleep }: Simulation): Promise<void> => {
    const guest = system.spawn(counterActor, { start: 7 }, { id: 'guest', ...onThread('one') });
    const { thread } = await guest.ask('whereabouts', {});
    const simulated = threads()[thread] as { heapUsedBytes: number };
    simulated.heapUsedBytes = Number.MAX_SAFE_INTEGER;
    pauseThread(thread, 5_000);
    const before = system.threads()[0]?.health;
    while (system.threads()[0]?.health === before) await sleep(1);
    simulated.heapUsedBytes = 0;
    await sleep(5_000);
    expect(system.threads()).toMatchObject([{ thread, state: 'ready' }]);
  };
  expect((await simulate(1, scenario, { behaviours: [counterActor] })).failure).toBeNull();
});
