// The embedder's view of the root's children: it starts, awaits, watches and stops them as their parent would.

import { expect, test } from 'vitest';
import { on, openSystem, TRANSPORTS } from '../support/actor-system.ts';
import { counterActor, counterProtocol } from '../support/counter-actor.ts';

test.each(TRANSPORTS)('the embedder waits for a child on %s, watches it and stops it', async (transport) => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 1 }, on(transport, { id: 'counter', name: 'one' }));
  await system.childStarted('counter');
  const reasons: unknown[] = [];
  system.watch(counter, (reason) => reasons.push(reason));
  counter.tell('add', 1);
  const total = counter.ask('total', {});
  await system.stopChild('counter', { drain: true });
  expect(await total).toBe(2);
  await expect.poll(() => reasons).toEqual([{ kind: 'stopped' }]);
  await expect(system.named(counterProtocol, 'one').ask('total', {})).rejects.toMatchObject({
    code: 'actor_unavailable',
  });
  // Its id is free again.
  system.spawn(counterActor, { start: 1 }, on(transport, { id: 'counter' }));
});

test('a child that cannot start says so, and a name cannot be watched', async () => {
  const system = await openSystem();
  const options = on('the same thread', { id: 'counter' });
  system.spawn(counterActor, { start: 0, failSetup: true }, options);
  await expect(system.childStarted('counter')).rejects.toThrow('setup failed as told');
  await expect(system.childStarted('nobody')).rejects.toThrow('nobody');
  expect(() => system.watch(system.named(counterProtocol), () => undefined)).toThrow('a name cannot be');
});
