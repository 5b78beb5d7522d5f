// Promise 9: mail between threads is flow-controlled by credit, and workers have channels of their own to each other.

import { expect, test } from 'vitest';
import { onThread, openSystem, settledSums } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { openGate } from '../../support/gate.ts';
import { scribeActor } from '../../support/scribe-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

/** More than the credit of a link, less than it holds back. */
const BURST = 20_000;

test('mail beyond the credit of a link waits, and arrives in order', async () => {
  const system = await openSystem();
  const scribe = system.spawn(scribeActor, {}, { id: 'scribe', ...onThread('one') });
  const questions: Promise<unknown>[] = [];
  for (let n = 0; n < BURST; n += 1) {
    if (n % 1_000 === 999) questions.push(scribe.ask('record', { sender: 'test', n }));
    else expect(scribe.tell('write', { sender: 'test', n })).toBe(true);
  }
  await Promise.all(questions);
  const lines = await scribe.ask('lines', {});
  expect(lines.map(({ n }) => n)).toEqual(Array.from({ length: BURST }, (_, n) => n));
});

test('what a link cannot hold back is rejected, and the sender is told', async () => {
  const system = await openSystem();
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', ...onThread('one') });
  let taken = 0;
  for (let n = 0; n < 100_000; n += 1) if (counter.tell('add', 1)) taken += 1;
  await expect(counter.ask('total', {})).rejects.toMatchObject({ code: 'mailbox_full', retryable: true });
  expect(taken).toBeLessThan(100_000);
  const { sent, handled, rejected } = await settledSums(system);
  expect(await counter.ask('total', {})).toBe(taken);
  expect([handled, handled + rejected]).toEqual([taken, sent]);
});

test('an actor that takes no mail does not hold up the others of its thread', async () => {
  const system = await openSystem();
  const gate = await openGate(system);
  const scribe = system.spawn(scribeActor, { gate: gate.address }, { id: 'scribe', ...onThread('one') });
  const counter = system.spawn(counterActor, { start: 0 }, { id: 'counter', ...onThread('one') });
  for (let n = 0; n < BURST; n += 1) scribe.tell('write', { sender: 'test', n });
  expect(await counter.ask('total', {})).toBe(0);
  gate.open();
  expect(await scribe.ask('lines', {})).toHaveLength(BURST);
});

test('mail between workers does not pass through the main thread', async () => {
  const system = await openSystem();
  const scribe = system.spawn(scribeActor, {}, { id: 'scribe', ...onThread('one') });
  const sender = system.spawn(senderActor, { name: 'b' }, { id: 'b', ...onThread('two') });
  const to = await scribe.ask('whereabouts', {});
  expect(await sender.ask('send', { to, count: 500, askEvery: 10 })).toBe(500);
  await settledSums(system);
  const sent = new Map(system.threads().map(({ name, health }) => [name, health?.counters.sent ?? 0]));
  expect(sent.get('two')).toBeGreaterThanOrEqual(500);
  const total = system.counters().sent;
  expect(total - (sent.get('one') ?? 0) - (sent.get('two') ?? 0)).toBeLessThan(10);
});
