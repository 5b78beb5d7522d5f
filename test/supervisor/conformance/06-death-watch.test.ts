// Promise 6: every watcher gets exactly one `terminated`, whatever killed the target. Each death has two watchers, one on
// the main thread and one on another worker.

import { describe, expect, test } from 'vitest';
import type { TerminationReason } from '../../../src/supervisor/actor.ts';
import type { Address, Ref } from '../../../src/supervisor/protocol.ts';
import type { ActorSystem, ActorSystemOptions } from '../../../src/supervisor/system.ts';
import { openProbe } from '../../../src/supervisor/testkit/index.ts';
import { on, onThread, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { counterActor, type counterProtocol } from '../../support/counter-actor.ts';
import { openParent } from '../../support/parent.ts';
import { watcherActor } from '../../support/watcher-actor.ts';

type Counter = Ref<typeof counterProtocol>;
type Death = (counter: Counter, system: ActorSystem, address: Address) => unknown;

const CRASHES: readonly (readonly [string, Death, TerminationReason])[] = [
  ['a throw', (counter) => counter.tell('crash', 'boom'), { kind: 'crashed', message: 'boom' }],
  ['a rejection', (counter) => counter.tell('crashLater', 'boom'), { kind: 'crashed', message: 'boom' }],
  [
    'a throw while it is asked',
    (counter) => counter.ask('crashOnAsk', 'boom').catch(() => undefined),
    { kind: 'crashed', message: 'boom' },
  ],
  ['its own wish', (counter) => counter.tell('stop', {}), { kind: 'stopped' }],
];

const thread_lost = (message: RegExp): TerminationReason => ({
  kind: 'thread_lost',
  message: expect.stringMatching(message) as string,
});

const LOSSES: readonly (readonly [string, Death, TerminationReason, ActorSystemOptions])[] = [
  ['exit(0)', (counter) => counter.tell('exit', 0), thread_lost(/without a handshake .*0/), {}],
  ['exit(1)', (counter) => counter.tell('exit', 1), thread_lost(/without a handshake .*1/), {}],
  ['an uncaught error', (counter) => counter.tell('uncaught', 'stray'), thread_lost(/stray/), {}],
  ['an unhandled rejection', (counter) => counter.tell('unhandled', 'stray'), thread_lost(/stray/), {}],
  [
    'the heap limit',
    (counter) => counter.tell('hoard', {}),
    thread_lost(/memory/),
    // Not retired before it comes to that, nor the watcher's thread, whose heap is nearly full while it loads its modules.
    { threads: { heapMaxMb: 16, heapRetireShare: 1 } },
  ],
  [
    'an endless loop',
    (counter) => counter.tell('spin', {}),
    thread_lost(/did not answer/),
    { threads: { stuckMs: 1_000 } },
  ],
  [
    'a killed thread',
    (_counter, system, { thread }) => system.terminateThread(thread),
    thread_lost(/without a handshake/),
    {},
  ],
];

/** Lets the counter die, and says what each of the two watchers was told, when there is nothing more to come. */
async function told(
  system: ActorSystem,
  counter: Counter,
  death: Death,
): Promise<readonly (readonly unknown[])[]> {
  const address = await counter.ask('whereabouts', {});
  const probe = openProbe(system);
  probe.watch(address);
  const watcher = system.spawn(watcherActor, undefined, { id: 'watcher', ...onThread('two') });
  await watcher.ask('watch', address);
  await death(counter, system, address);
  await probe.next();
  await watcher.ask('seen', {});
  // Both get the end of something else after it, through the same channels: nothing can be behind that.
  const last = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'last', restart: 'temporary', ...onThread('two') },
  );
  probe.watch(await last.ask('whereabouts', {}));
  last.tell('stop', {});
  await probe.next();
  const seen = await watcher.ask('seenSoFar', {});
  return [probe.received.slice(0, -1), seen].map((all) =>
    all.map((one) => (one as { reason: unknown }).reason),
  );
}

describe.each(TRANSPORTS)('6, watchers of an actor on %s are told once', (transport) => {
  test.each(CRASHES)('of its end by %s', async (_name, death, reason) => {
    const system = await openSystem();
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    expect(await told(system, counter, death)).toEqual([[reason], [reason]]);
  });

  test('that it had ended already, when they come late', async () => {
    const system = await openSystem();
    const parent = openParent(system);
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    const address = await counter.ask('whereabouts', {});
    counter.tell('stop', {});
    const reasons: unknown[] = [];
    parent.watch(address, ({ reason }) => reasons.push(reason));
    await expect.poll(() => reasons).toHaveLength(1);
    parent.watch(counter, ({ reason }) => reasons.push(reason));
    await expect.poll(() => reasons).toHaveLength(2);
    expect(reasons[1]).toEqual({ kind: 'unknown_actor' });
    const watcher = system.spawn(watcherActor, undefined, { id: 'watcher', ...onThread('two') });
    await watcher.ask('watch', address);
    expect(await watcher.ask('seen', {})).toEqual([{ address, reason: { kind: 'unknown_actor' } }]);
  });

  test('not at all after an unwatch', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    const address = await counter.ask('whereabouts', {});
    const unwatch = probe.watch(address);
    const watcher = system.spawn(watcherActor, undefined, { id: 'watcher', ...onThread('two') });
    await watcher.ask('watch', address);
    await watcher.ask('unwatch', {});
    unwatch();
    // In order behind the unwatch, and so behind it at the target's thread, too.
    probe.watch(address);
    counter.tell('stop', {});
    await probe.next();
    await watcher.ask('watch', address);
    expect(await watcher.ask('seen', {})).toHaveLength(1);
    expect(probe.received).toHaveLength(1);
  });
});

describe('6, watchers of an actor on a worker thread are told once', () => {
  test.each(LOSSES)('of its end by %s', async (_name, death, reason, options) => {
    const system = await openSystem(options);
    const counter = system.spawn(counterActor, { start: 0 }, on('a worker thread', { id: 'counter' }));
    expect(await told(system, counter, death)).toEqual([[reason], [reason]]);
  });

  test('of its end when the thread dies before its handshake', async () => {
    const module = new URL('../../support/dying-bootstrap.ts', import.meta.url).href;
    for (const how of ['throw', 'exit'] as const) {
      const system = await openSystem({ threads: { bootstrap: { module, data: how } } });
      const parent = openParent(system);
      const options = { id: 'counter', restart: 'temporary', ...onThread('one') } as const;
      const counter = parent.spawn(counterActor, { start: 0 }, options);
      const reasons: unknown[] = [];
      parent.watch(counter, ({ reason }) => reasons.push(reason));
      await expect(counter.ask('total', {})).rejects.toMatchObject({ code: 'actor_terminated' });
      await expect.poll(() => reasons).toEqual([thread_lost(how === 'exit' ? /code 0/ : /dies as told/)]);
    }
  });
});
