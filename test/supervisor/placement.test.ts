// Placement: where children live, whichever thread their parent is on; their refs are good at once.

import { describe, expect, test } from 'vitest';
import type { ChildOptions, Placement } from '../../src/supervisor/actor.ts';
import type { Ref } from '../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../src/supervisor/system.ts';
import { openProbe } from '../../src/supervisor/testkit/index.ts';
import {
  on,
  onThread,
  openSystem,
  settledSums,
  TRANSPORTS,
  type Transport,
} from '../support/actor-system.ts';
import { counterActor, counterProtocol } from '../support/counter-actor.ts';
import { eventually } from '../support/eventually.ts';
import { foremanActor, type foremanProtocol } from '../support/foreman-actor.ts';

type Foreman = Ref<typeof foremanProtocol>;

function openForeman(system: ActorSystem, transport: Transport): Foreman {
  return system.spawn(foremanActor, undefined, on(transport, { id: 'foreman' }));
}

/** The number of the live thread with that name. */
function threadOf(system: ActorSystem, name: string): number | undefined {
  return system.threads().find((view) => view.name === name && view.state !== 'leaving')?.thread;
}

function hasThread(system: ActorSystem, number: number): boolean {
  return system.threads().some(({ thread }) => thread === number);
}

describe.each(TRANSPORTS)('a parent on %s places its child', (transport) => {
  test.each<readonly [string, Placement, string | null]>([
    ['beside itself', 'parent', null],
    ['on the main thread', 'edge', null],
    ['on the thread of a name', { thread: 'two' }, 'two'],
    ['on a thread that is there', { thread: 'one' }, 'one'],
    ['on one of several', { anyOf: ['three'] }, 'three'],
    ['on any thread', 'any', 'one'],
    ['on a thread of its own', 'dedicated', 'foreman/child'],
  ])('%s', async (_where, placement, name) => {
    const system = await openSystem();
    // Keeps thread `one` there, wherever the foreman lives.
    await system.spawn(counterActor, { start: 0 }, { id: 'first', ...onThread('one') }).ask('total', {});
    const foreman = openForeman(system, transport);
    const { thread } = await foreman.ask('whereabouts', {});
    const { address, total } = await foreman.ask('hire', { id: 'child', placement });
    expect(total).toBe(100);
    expect(address).toMatchObject({ path: 'foreman/child' });
    const expected = name === null ? (placement === 'parent' ? thread : 0) : threadOf(system, name);
    expect(address.thread).toBe(expected);
    expect(await system.refTo(counterProtocol, address).ask('total', {})).toBe(100);
    await foreman.ask('fire', 'child');
    const { sent, handled, deadLettered, rejected, queued } = await settledSums(system);
    expect(handled + queued).toBe(sent);
    expect({ deadLettered, rejected }).toEqual({ deadLettered: 0, rejected: 0 });
  });

  test('on the least loaded of several, so that they fill alike', async () => {
    // No health is reported: on a busy machine that of a thread that has just started looks strained.
    const system = await openSystem({ threads: { heartbeatMs: 60_000 } });
    const foreman = openForeman(system, transport);
    const threads: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      const { address } = await foreman.ask('hire', { id: `${i}`, placement: { anyOf: ['a', 'b', 'c'] } });
      threads.push(address.thread);
    }
    const counts = [...new Set(threads)].map((one) => threads.filter((thread) => thread === one).length);
    expect(counts).toEqual([2, 2, 2]);
  });

  test('on a thread that ends with it, and on a new one when it is restarted', async () => {
    const system = await openSystem();
    const foreman = openForeman(system, transport);
    const options: ChildOptions = {
      id: 'child',
      name: 'child',
      placement: 'dedicated',
      restart: 'permanent',
    };
    const { address } = await foreman.ask('hire', options);
    const child = system.named(counterProtocol, 'child');
    // By its ref: the name may reach this thread after the foreman's answer.
    system.refTo(counterProtocol, address).tell('crash', 'boom');
    await eventually(() => child.ask('whereabouts', {})).not.toMatchObject({ thread: address.thread });
    const { thread: now } = await child.ask('whereabouts', {});
    await eventually(() => hasThread(system, address.thread)).toBe(false);
    await foreman.ask('fire', 'child');
    await eventually(() => threadOf(system, 'foreman/child')).toBeUndefined();
    await eventually(() => hasThread(system, now)).toBe(false);
  });

  test('and hears of its end, by watch and by link, from the first moment on', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const foreman = openForeman(system, transport);
    const placed = { placement: { thread: 'two' } } as const;
    const boom = { kind: 'crashed', message: 'boom' };
    expect(await foreman.ask('outlive', { id: 'a', ...placed })).toEqual({
      address: expect.objectContaining({ path: 'foreman/a', thread: threadOf(system, 'two') }),
      reason: boom,
    });
    probe.watch(await foreman.ask('whereabouts', {}));
    foreman.tell('goDownWith', { id: 'b', ...placed });
    expect(await probe.next()).toMatchObject({ reason: boom });
  });

  test('and may stop or drain it at once', async () => {
    const system = await openSystem();
    const foreman = openForeman(system, transport);
    const stopped = { reason: { kind: 'stopped' } };
    expect(await foreman.ask('regret', { id: 'a', placement: 'dedicated' })).toMatchObject(stopped);
    expect(await foreman.ask('regret', { id: 'b', placement: { thread: 'two' } })).toMatchObject(stopped);
    expect(await foreman.ask('drainAtOnce', { id: 'c', placement: { anyOf: ['two'] } })).toMatchObject(
      stopped,
    );
    await eventually(() => threadOf(system, 'foreman/a')).toBeUndefined();
  });
});

test('a child that a worker placed elsewhere is restarted when its thread is lost, and killed when its parent is', async () => {
  const system = await openSystem();
  const probe = openProbe(system);
  const foreman = openForeman(system, 'a worker thread');
  const options: ChildOptions = { id: 'child', name: 'child', restart: 'permanent', ...onThread('two') };
  const { address } = await foreman.ask('hire', options);
  await system.terminateThread(address.thread);
  const child = system.named(counterProtocol, 'child');
  await eventually(() => child.ask('whereabouts', {})).not.toMatchObject({ actor: address.actor });
  const again = await child.ask('whereabouts', {});
  expect(again.thread).toBe(threadOf(system, 'two'));
  probe.watch(again);
  await system.terminateThread((await foreman.ask('whereabouts', {})).thread);
  expect(await probe.next()).toMatchObject({ reason: { kind: 'killed' } });
});

test('a dedicated thread does not outlive the thread of the one that asked for it', async () => {
  const system = await openSystem();
  const foreman = openForeman(system, 'a worker thread');
  const { thread } = await foreman.ask('whereabouts', {});
  await foreman.ask('hire', { id: 'child', placement: 'dedicated' });
  foreman.tell('hireBlindly', { id: 'late', placement: 'dedicated' });
  await system.terminateThread(thread);
  await eventually(() => system.threads()).toEqual([]);
});

test('a place that nobody can give fails the spawn, or the child when it is asked for from afar', async () => {
  const system = await openSystem();
  const nowhere = { id: 'child', placement: { anyOf: [] } } as const;
  expect(() => system.spawn(counterActor, { start: 0 }, nowhere)).toThrow('no threads');
  const foreman = openForeman(system, 'a worker thread');
  expect(await foreman.ask('outlive', nowhere)).toMatchObject({
    reason: { kind: 'crashed', message: expect.stringContaining('no threads') },
  });
});

test('any thread is one by a name of its own while there is none', async () => {
  const system = await openSystem();
  await system.spawn(counterActor, { start: 0 }, { id: 'child', placement: 'any' }).ask('total', {});
  expect(system.threads().map(({ name }) => name)).toEqual(['host']);
});
