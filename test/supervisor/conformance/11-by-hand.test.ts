// Promise 11: time, randomness and ids come in by hand, so that a run of one thread can be replayed from a seed.

import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import { actor } from '../../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import {
  ManualClock,
  openProbe,
  probeProtocol,
  SeededExecutor,
} from '../../../src/supervisor/testkit/index.ts';

const gossipProtocol = protocol('gossip', {
  meet: tell<readonly Address[]>(),
  hear: tell<{ readonly from: string; readonly hops: number }>(),
  now: call<Record<string, never>, string>(),
});

/** Passes what it hears on to a neighbour by chance, sometimes after a while, and tells the probe. */
const gossipActor = actor({
  module: import.meta.url,
  exportName: 'gossipActor',
  protocol: gossipProtocol,
  setup: (context, { probe }: { readonly probe: Address }) => {
    let neighbours: readonly Address[] = [];
    const name = context.path;
    return {
      meet: (addresses) => {
        neighbours = addresses;
      },
      hear: ({ from, hops }) => {
        const id = context.random.hex(4);
        context.refTo(probeProtocol, probe).tell('note', `${context.clock.nowMs()} ${from} -> ${name} ${id}`);
        const next = neighbours[Math.floor(context.random.float() * neighbours.length)];
        if (hops === 0 || next === undefined) return;
        const pass = (): void => {
          context.refTo(gossipProtocol, next).tell('hear', { from: name, hops: hops - 1 });
        };
        if (context.random.float() < 0.5) pass();
        else context.after(`pass ${id}`, Math.floor(context.random.float() * 1_000), pass);
      },
      now: () => `${context.clock.nowMs()}`,
    };
  },
});

async function traceOf(seed: number): Promise<readonly unknown[]> {
  const random = seededRandom(seed);
  const executor = new SeededExecutor(random);
  const clock = new ManualClock({ settle: () => executor.run() });
  const opening = createActorSystem({ clock, random, executor });
  await executor.run();
  const system = await opening;
  const probe = openProbe(system);
  const crowd = Array.from({ length: 5 }, (_, i) =>
    system.spawn(gossipActor, { probe: probe.address }, { id: `gossip-${i}` }),
  );
  await executor.run();
  const addresses = system
    .actors()
    .flatMap(({ path, address }) => (path.startsWith('gossip') ? [address] : []));
  for (const gossip of crowd) {
    gossip.tell('meet', addresses);
    gossip.tell('hear', { from: 'test', hops: 20 });
  }
  await clock.advance(60_000);
  const stopped = system.stop();
  await executor.run();
  await stopped;
  expect(clock.timers).toBe(0);
  return probe.received;
}

test('the same seed gives the same run, byte for byte; another seed another one', async () => {
  const first = await traceOf(7);
  expect(first).toHaveLength(5 * 21);
  expect(await traceOf(7)).toEqual(first);
  expect(await traceOf(8)).not.toEqual(first);
});

test('nothing of an actor depends on the time of the machine', async () => {
  const clock = new ManualClock({ nowMs: 1_000 });
  const system = await createActorSystem({ clock });
  const gossip = system.spawn(gossipActor, { probe: { thread: 0, actor: 1, path: '' } }, { id: 'gossip' });
  expect(await gossip.ask('now', {})).toBe('1000');
  await clock.advance(86_400_000);
  expect(await gossip.ask('now', {})).toBe('86401000');
  expect(system.actors().find(({ path }) => path === 'gossip')?.ageMs).toBe(86_400_000);
  await system.stop();
});
