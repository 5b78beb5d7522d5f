// Promise 8: closures do not cross threads; what is not plain data is refused clearly, and harms no other mail.

import { expect, test } from 'vitest';
import { onThread, openSystem, settledSums } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { smugglerActor } from '../../support/smuggler-actor.ts';

const notPlain = (): number => 1;

test('a message that is not plain data is refused by itself: the mail beside it arrives', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', ...onThread('one') });
  counter.tell('add', 1);
  counter.tell('add', notPlain as unknown as number);
  const refused = counter.ask('total', { notPlain } as never);
  counter.tell('add', 1);
  await expect(refused).rejects.toMatchObject({ code: 'message_refused' });
  expect(await counter.ask('total', {})).toBe(2);
  expect(system.deadLetters().map(({ message, refusal }) => [message, refusal])).toEqual([
    ['add', 'not_plain'],
    ['total', 'not_plain'],
  ]);
  const { sent, handled, deadLettered } = await settledSums(system);
  expect(handled + deadLettered).toBe(sent);
});

test('more refused messages than the link has credit for do not use its credit up', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', ...onThread('one') });
  for (let n = 0; n < 9_000; n += 1) counter.tell('add', notPlain as unknown as number);
  expect(await counter.ask('total', {})).toBe(0);
});

test('a reply, a fault and a stream item that are not plain data fail their asker, and end the producer', async () => {
  const system = await openSystem();
  const smuggler = system.spawn(smugglerActor, undefined, { id: 'smuggler', ...onThread('one') });
  await expect(smuggler.ask('reply', {})).rejects.toMatchObject({ code: 'message_refused' });
  await expect(smuggler.ask('fail', {})).rejects.toMatchObject({ code: 'message_refused' });
  await expect(smuggler.stream('items', {}).next()).rejects.toMatchObject({ code: 'message_refused' });
  await expect.poll(() => smuggler.ask('closed', {})).toBe(1);
});

test('an answer that can be written and not read ends the thread that gave it: nobody waits for what was beside it', async () => {
  const system = await openSystem();
  const temporary = { restart: 'temporary', ...onThread('one') } as const;
  const smuggler = system.spawn(smugglerActor, undefined, { id: 'smuggler', ...temporary });
  expect(await smuggler.ask('nested', { levels: 500 })).toBeTypeOf('object');
  const asks = [smuggler.ask('nested', { levels: 5_000 }), smuggler.ask('closed', {})];
  for (const outcome of await Promise.allSettled(asks)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'actor_terminated' } });
  }
  const next = system.spawn(smugglerActor, undefined, { id: 'next', ...temporary });
  expect(await next.ask('closed', {})).toBe(0);
});

test('a child whose arguments are not plain data crashes before it begins; others on its thread do not', async () => {
  const system = await openSystem();
  const args = { start: 0, notPlain } as { start: number };
  system.spawn(counterActor, args, { id: 'counter', restart: 'temporary', ...onThread('one') });
  const other = system.spawn(counterActor, { start: 3 }, { id: 'other', ...onThread('one') });
  expect(await other.ask('total', {})).toBe(3);
});

test('a system whose child has arguments that are not plain data does not start, and says why', async () => {
  const spec = { behaviour: smugglerActor, args: { notPlain }, options: { id: 'child', ...onThread('one') } };
  const quick = { intensity: { restartsMax: 0, withinMs: 1_000 } };
  await expect(openSystem({ children: [spec], supervision: quick })).rejects.toThrow('not plain data');
});

test('a behaviour whose module does not load, or lacks the export, crashes with the reason', async () => {
  const quick = { intensity: { restartsMax: 0, withinMs: 1_000 } };
  for (const change of [{ module: 'file:///no/such/module.ts' }, { exportName: 'nobody' }]) {
    const behaviour = { ...counterActor, ...change };
    const children = [{ behaviour, args: { start: 0 }, options: { id: 'child', ...onThread('one') } }];
    await expect(openSystem({ children, supervision: quick })).rejects.toThrow(
      /cannot load .*(no.such|nobody)/,
    );
  }
});
