// Promise 3: every mailbox has a bound and a policy, signals have a lane of their own, and nothing is lost silently.

import { describe, expect, test } from 'vitest';
import { openProbe } from '../../../src/supervisor/testkit/index.ts';
import { on, onThread, openSystem, settledSums, TRANSPORTS } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { openGate } from '../../support/gate.ts';
import { scribeActor } from '../../support/scribe-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

describe.each(TRANSPORTS)('3, mailboxes on %s', (transport) => {
  test('a full mailbox rejects the newcomer, and fails a question at once', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const mailbox = { lengthMax: 10, whenFull: 'reject' } as const;
    const scribe = system.spawn(
      scribeActor,
      { gate: gate.address },
      on(transport, { id: 'scribe', mailbox }),
    );
    await gate.arrived(1);
    for (let n = 0; n < 10; n += 1) scribe.tell('write', { sender: 'test', n });
    await expect(scribe.ask('lines', {})).rejects.toMatchObject({ code: 'mailbox_full', retryable: true });
    scribe.tell('write', { sender: 'test', n: 10 });
    gate.open();
    await expect.poll(() => scribe.ask('lines', {}).catch(() => [])).toHaveLength(10);
    expect((await settledSums(system)).rejected).toBeGreaterThanOrEqual(2);
  });

  test('a full mailbox that drops its oldest keeps the newest, and fails a dropped question at once', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const mailbox = { lengthMax: 10, whenFull: 'drop_oldest' } as const;
    const scribe = system.spawn(
      scribeActor,
      { gate: gate.address },
      on(transport, { id: 'scribe', mailbox }),
    );
    await gate.arrived(1);
    const dropped = scribe.ask('lines', {});
    for (let n = 0; n < 19; n += 1) scribe.tell('write', { sender: 'test', n });
    await expect(dropped).rejects.toMatchObject({ code: 'mailbox_full' });
    const lines = scribe.ask('lines', {});
    gate.open();
    expect((await lines).map(({ n }) => n)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18]);
    expect((await settledSums(system)).deadLettered).toBe(11);
  });

  test('a stop is not delayed behind 50,000 messages', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    probe.watch(await counter.ask('whereabouts', {}));
    counter.tell('stop', {});
    for (let n = 0; n < 50_000; n += 1) counter.tell('add', 1);
    const total = counter.ask('total', {});
    await expect(total).rejects.toMatchObject({ code: 'actor_terminated' });
    expect(await probe.next()).toMatchObject({ reason: { kind: 'stopped' } });
    const { sent, handled, deadLettered, rejected } = await settledSums(system);
    expect(handled + deadLettered + rejected).toBe(sent);
    expect(deadLettered).toBeGreaterThan(49_000);
  });

  test('sent = handled + rejected + dead-lettered, whatever happened', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const mailbox = { lengthMax: 50, whenFull: 'reject' } as const;
    const full = system.spawn(scribeActor, { gate: gate.address }, on(transport, { id: 'full', mailbox }));
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    const sender = system.spawn(senderActor, { name: 'b' }, { id: 'b', ...onThread('two') });
    const to = await counter.ask('whereabouts', {});
    const outcomes: Promise<unknown>[] = [sender.ask('send', { to, count: 100 })];
    for (let n = 0; n < 200; n += 1) {
      full.tell('write', { sender: 'test', n });
      counter.tell('add', 1);
      outcomes.push(counter.ask('refuse', 'no'));
      outcomes.push(system.named(counterProtocol, 'nobody').ask('total', {}));
      system.refTo(counterProtocol, { ...to, actor: to.actor + 1_000 }).tell('add', 1);
    }
    await Promise.allSettled(outcomes);
    counter.tell('crash', 'over');
    counter.tell('add', 1);
    gate.open();
    const { sent, handled, rejected, deadLettered, queued } = await settledSums(system);
    expect(handled + rejected + deadLettered + queued).toBe(sent);
    expect(rejected).toBe(150);
    expect(await full.ask('lines', {})).toHaveLength(50);
  });
});
