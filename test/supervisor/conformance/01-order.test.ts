// Promises 1 and 2: one message at a time, in order from one sender to one receiver, the same on both transports; and no
// handler that waits holds up the mailbox.

import { describe, expect, test } from 'vitest';
import { on, onThread, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { openGate } from '../../support/gate.ts';
import { type Line, scribeActor } from '../../support/scribe-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

function linesOf(sender: string, lines: readonly Line[]): number[] {
  return lines.filter((line) => line.sender === sender).map(({ n }) => n);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

describe.each(TRANSPORTS)('1, one at a time and in order, on %s', (transport) => {
  test('an actor handles one message at a time, its own timers and what it tells itself included', async () => {
    const system = await openSystem();
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe' }));
    for (let i = 0; i < 20; i += 1) scribe.tell('relay', { depth: 20 });
    for (let i = 0; i < 20; i += 1) await scribe.ask('lines', {});
    expect(await scribe.ask('overlaps', {})).toBe(0);
  });

  test('mail of one sender arrives in order, statements and questions mixed', async () => {
    const system = await openSystem();
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe' }));
    await Promise.all(
      upTo(2_000).map((n) =>
        n % 3 === 0
          ? scribe.ask('record', { sender: 'test', n })
          : scribe.tell('write', { sender: 'test', n }),
      ),
    );
    expect(linesOf('test', await scribe.ask('lines', {}))).toEqual(upTo(2_000));
  });

  test('mail that came before the setup was done is kept, in order', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const scribe = system.spawn(scribeActor, { gate: gate.address }, on(transport, { id: 'scribe' }));
    for (const n of upTo(500)) scribe.tell('write', { sender: 'test', n });
    const lines = scribe.ask('lines', {});
    await gate.arrived(1);
    gate.open();
    expect(linesOf('test', await lines)).toEqual(upTo(500));
  });

  test('mail of several senders, here and on other threads, is in order for each of them', async () => {
    const system = await openSystem();
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe' }));
    const to = await scribe.ask('whereabouts', {});
    const senders = [
      system.spawn(senderActor, { name: 'a' }, { id: 'a' }),
      system.spawn(senderActor, { name: 'b' }, { id: 'b' }),
      system.spawn(senderActor, { name: 'c' }, { id: 'c', ...onThread('one') }),
      system.spawn(senderActor, { name: 'd' }, { id: 'd', ...onThread('two') }),
    ];
    const taken = await Promise.all(
      senders.map((sender) => sender.ask('send', { to, count: 1_000, askEvery: 7 })),
    );
    expect(taken).toEqual([1_000, 1_000, 1_000, 1_000]);
    const lines = await scribe.ask('lines', {});
    for (const name of ['a', 'b', 'c', 'd']) expect(linesOf(name, lines)).toEqual(upTo(1_000));
  });
});

describe.each(TRANSPORTS)('2, no handler blocks the mailbox, on %s', (transport) => {
  test('mail is handled while an earlier question still waits for I/O', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe' }));
    const waiting = scribe.ask('waitAt', gate.address);
    await gate.arrived(1);
    scribe.tell('write', { sender: 'test', n: 1 });
    expect(await scribe.ask('lines', {})).toHaveLength(1);
    gate.open();
    expect(await waiting).toBe(true);
  });

  test('a stop is honoured while a handler waits, and its asker is told at once', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const scribe = system.spawn(scribeActor, {}, on(transport, { id: 'scribe' }));
    const waiting = scribe.ask('waitAt', gate.address);
    await gate.arrived(1);
    scribe.tell('stop', {});
    await expect(waiting).rejects.toMatchObject({ code: 'actor_terminated' });
    // What it asked for itself ended with it.
    await expect.poll(() => gate.left).toEqual(['scribe']);
  });
});
