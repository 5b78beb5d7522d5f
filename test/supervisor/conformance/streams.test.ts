// Streams: pulled sequences with backpressure, the same on both transports.

import { describe, expect, test } from 'vitest';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { STREAM_CREDIT } from '../../../src/supervisor/streams.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { on, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { fountainActor, fountainProtocol } from '../../support/fountain-actor.ts';
import { openParent } from '../../support/parent.ts';

type Fountain = Ref<typeof fountainProtocol>;

describe.each(TRANSPORTS)('streams of an actor on %s', (transport) => {
  const open = (system: ActorSystem): Fountain =>
    system.spawn(fountainActor, undefined, on(transport, { id: 'fountain', name: true }));

  test('items arrive in order, and then the end', async () => {
    const fountain = open(await openSystem());
    const items: number[] = [];
    for await (const n of fountain.stream('upTo', 500)) items.push(n);
    expect(items).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
    await expect.poll(() => fountain.ask('closed', {})).toBe(1);
  });

  test('streams of the same actor do not disturb each other', async () => {
    const fountain = open(await openSystem());
    const read = async (count: number): Promise<number> => {
      let sum = 0;
      for await (const n of fountain.stream('upTo', count)) sum += n;
      return sum;
    };
    expect(await Promise.all([read(10), read(100), read(1_000)])).toEqual([55, 5_050, 500_500]);
  });

  test('a reader that stops reading holds at most the credit', async () => {
    const fountain = open(await openSystem());
    const items = fountain.stream('endless', {});
    expect(await items.next()).toEqual({ done: false, value: 1 });
    await expect.poll(() => fountain.ask('made', {})).toBe(1 + STREAM_CREDIT);
    for (let i = 0; i < 20; i += 1) expect(await fountain.ask('made', {})).toBe(1 + STREAM_CREDIT);
    expect(await items.next()).toEqual({ done: false, value: 2 });
    await items.return?.();
  });

  test('a reader that returns closes the producer once', async () => {
    const fountain = open(await openSystem());
    for await (const n of fountain.stream('endless', {})) if (n === 10) break;
    const items = fountain.stream('endless', {});
    await items.next();
    await Promise.all([items.return?.(), items.return?.()]);
    expect(await items.next()).toEqual({ done: true, value: undefined });
    await expect.poll(() => fountain.ask('closed', {})).toBe(2);
    await fountain.ask('made', {});
    expect(await fountain.ask('closed', {})).toBe(2);
  });

  test('a reader that returns ends a producer that waits, without a crash', async () => {
    const fountain = open(await openSystem());
    const items = fountain.stream('waiting', {});
    await items.next();
    const waiting = items.next();
    await items.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await expect.poll(() => fountain.ask('closed', {})).toBe(1);
  });

  test('a fault of the producer arrives behind its items, and the actor lives on', async () => {
    const fountain = open(await openSystem());
    const items: number[] = [];
    const read = async (): Promise<void> => {
      for await (const n of fountain.stream('failing', { after: 5, how: 'fault' })) items.push(n);
    };
    await expect(read()).rejects.toMatchObject({ code: 'fountain_dry' });
    expect(items).toEqual([1, 2, 3, 4, 5]);
    await expect(fountain.stream('refused', {}).next()).rejects.toMatchObject({ code: 'fountain_dry' });
    expect(await fountain.ask('made', {})).toBe(5);
  });

  test('a bug of the producer is a crash of its actor', async () => {
    const fountain = open(await openSystem());
    const other = fountain.stream('endless', {});
    await other.next();
    const items = fountain.stream('failing', { after: 1, how: 'bug' });
    await items.next();
    await expect(items.next()).rejects.toMatchObject({ code: 'actor_crashed' });
    await expect(drained(other)).rejects.toMatchObject({ code: 'actor_terminated' });
    await expect(fountain.ask('made', {})).rejects.toMatchObject({ code: 'actor_terminated' });
  });

  test('an aborted signal ends the stream with a fault, and the producer', async () => {
    const fountain = open(await openSystem());
    const controller = new AbortController();
    const items = fountain.stream('waiting', {}, { signal: controller.signal });
    await items.next();
    const waiting = items.next();
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ask_cancelled' });
    await expect.poll(() => fountain.ask('closed', {})).toBe(1);
    const late = fountain.stream('endless', {}, { signal: AbortSignal.abort() });
    await expect(late.next()).rejects.toMatchObject({ code: 'ask_cancelled' });
  });

  test('the death of the producer ends the stream with a fault', async () => {
    const fountain = open(await openSystem());
    const items = fountain.stream('waiting', {});
    await items.next();
    const waiting = items.next();
    fountain.tell('crash', 'boom');
    await expect(waiting).rejects.toMatchObject({ code: 'actor_terminated' });
    await expect(fountain.stream('endless', {}).next()).rejects.toMatchObject({ code: 'actor_terminated' });
  });

  test('the end of the actor that reads ends the producer', async () => {
    const system = await openSystem();
    const fountain = open(system);
    await fountain.ask('made', {});
    const parent = openParent(system);
    const items = parent.stream(fountainProtocol, 'waiting', {});
    await items.next();
    parent.stopSelf();
    await expect(items.next()).rejects.toMatchObject({ code: 'ask_cancelled' });
    await expect.poll(() => fountain.ask('closed', {})).toBe(1);
  });
});

test('a lost thread ends the streams of its actors with a fault', async () => {
  const system = await openSystem();
  const fountain = system.spawn(fountainActor, undefined, on('a worker thread', { id: 'fountain' }));
  const items = fountain.stream('waiting', {});
  await items.next();
  const waiting = items.next();
  fountain.tell('exit', 0);
  await expect(waiting).rejects.toMatchObject({ code: 'actor_terminated' });
});

/** Reads to the end. */
async function drained(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}
