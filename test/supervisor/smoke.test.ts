import { expect, test } from 'vitest';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { counterActor, counterProtocol } from '../support/counter-actor.ts';

for (const where of ['this thread', 'a worker thread'] as const) {
  test(`tell, ask and stream on ${where}`, async () => {
    const system = await createActorSystem({ threads: { heartbeatMs: 100 } });
    const ref = system.spawn(
      counterActor,
      { start: 5 },
      {
        id: 'c',
        name: true,
        restart: 'temporary',
        ...(where === 'this thread' ? {} : { placement: { thread: 'w' } }),
      },
    );
    for (let i = 0; i < 1000; i++) ref.tell('add', 1);
    expect(await ref.ask('total', {})).toBe(1005);
    expect((await ref.ask('whereabouts', {})).thread).toBe(where === 'this thread' ? 0 : 1);
    expect(await system.named(counterProtocol).ask('total', {})).toBe(1005);
    const items = [];
    for await (const n of ref.stream('count', { to: 10 })) items.push(n);
    expect(items).toHaveLength(10);
    await expect(ref.ask('refuse', 'no')).rejects.toMatchObject({
      code: 'counter_overflow',
      details: { total: 1005 },
    });
    const pending = ref.ask('never', {});
    pending.catch(() => {});
    const ended = Promise.withResolvers();
    system.watch(await ref.ask('whereabouts', {}), ended.resolve);
    ref.tell('crash', 'boom');
    await expect(pending).rejects.toMatchObject({ code: 'actor_terminated' });
    expect(await ended.promise).toEqual({ kind: 'crashed', message: 'boom' });
    await system.stop();
  });
}
test('a thread that exits', async () => {
  const system = await createActorSystem({ threads: { heartbeatMs: 100 } });
  const ref = system.spawn(
    counterActor,
    { start: 5 },
    { id: 'c', name: true, restart: 'permanent', placement: { thread: 'w' } },
  );
  expect((await ref.ask('whereabouts', {})).thread).toBe(1);
  const pending = ref.ask('never', {});
  ref.tell('exit', 0);
  await expect(pending).rejects.toMatchObject({ code: 'actor_terminated' });
  const again = system.named(counterProtocol);
  await expect
    .poll(async () => (await again.ask('whereabouts', {}).catch(() => ({ thread: -1 }))).thread)
    .toBe(2);
  await system.stop();
});
