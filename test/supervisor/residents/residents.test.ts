// Residents: actors that outlive their residency, on both transports.

import { describe, expect, test } from 'vitest';
import { present } from '../../../src/std/assert.ts';
import type { Address, Ref } from '../../../src/supervisor/protocol.ts';
import {
  type ResidentsOptions,
  residents,
  residentsProtocol,
} from '../../../src/supervisor/residents/residents.ts';
import { routerProtocol } from '../../../src/supervisor/routing/router.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { accountActor, type accountProtocol, type Entry } from '../../support/account-actor.ts';
import {
  on,
  onThread,
  openSystem,
  settledSums,
  TRANSPORTS,
  type Transport,
} from '../../support/actor-system.ts';
import { eventually } from '../../support/eventually.ts';
import { openGate } from '../../support/gate.ts';
import { openParent } from '../../support/parent.ts';

let stores = 0;

function openAccounts(
  system: ActorSystem,
  transport: Transport,
  options: Partial<ResidentsOptions> = {},
  gate?: Address,
) {
  stores += 1;
  const args = { store: String(stores), ...(gate === undefined ? {} : { gate }) };
  const accounts = system.spawn(
    ...residents(accountActor, args, { keyOf: 'accountKey', ...options }),
    on(transport, { id: 'accounts' }),
  );
  const house = system.refTo(residentsProtocol, present(accounts.address ?? undefined, 'their address'));
  return { accounts, view: () => house.ask('$residents', {}) };
}

const numbers = (entries: readonly Entry[]) => entries.map(({ n }) => n);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);
const look = (accounts: Ref<typeof accountProtocol>, account: string) => accounts.ask('look', { account });

describe.each(TRANSPORTS)('residents on %s', (transport) => {
  test('an identity is activated by its first message, passivated when it is idle, and finds its state again', async () => {
    const system = await openSystem();
    const { accounts, view } = openAccounts(system, transport, { idleMs: 30 });
    expect(accounts.tell('write', { account: 'a', sender: 'test', n: 1 })).toBe(true);
    expect(await accounts.ask('record', { account: 'b', sender: 'test', n: 1 })).toBe(1);
    await eventually(view).toMatchObject({ resident: 0, activations: 2, passivations: 2 });
    accounts.tell('write', { account: 'a', sender: 'test', n: 2 });
    expect(await look(accounts, 'a')).toMatchObject({ incarnations: 2 });
    expect(numbers((await look(accounts, 'a')).entries)).toEqual([1, 2]);
  });

  test('mail that comes while an identity leaves waits for its next incarnation, in order', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const { accounts, view } = openAccounts(system, transport, { idleMs: 20 }, gate.address);
    accounts.tell('write', { account: 'slow', sender: 'test', n: 0 });
    await gate.arrived(1);
    for (const n of upTo(300).slice(1)) accounts.tell('write', { account: 'slow', sender: 'test', n });
    const looked = look(accounts, 'slow');
    await eventually(view).toMatchObject({ resident: 1, held: 300 });
    gate.open();
    expect(numbers((await looked).entries)).toEqual(upTo(300));
    expect(await looked).toMatchObject({ incarnations: 2 });
  });

  test('no more are resident than there are places, and nothing is lost for want of one', async () => {
    const system = await openSystem();
    const { accounts, view } = openAccounts(system, transport, { residentsMax: 7 });
    const keys = upTo(500).map((n) => `account ${n}`);
    const most: number[] = [];
    for (const round of [0, 1, 2]) {
      for (const account of keys) accounts.tell('write', { account, sender: 'test', n: round });
      most.push((await view()).resident);
    }
    const views = await Promise.all(keys.map((account) => look(accounts, account)));
    most.push((await view()).resident);
    expect(Math.max(...most)).toBeLessThanOrEqual(7);
    for (const { entries } of views) expect(numbers(entries)).toEqual([0, 1, 2]);
    const sums = await settledSums(system);
    expect(sums).toMatchObject({ rejected: 0, deadLettered: 0, queued: 0, sent: sums.handled });
  });

  test('the least recently used makes room', async () => {
    const system = await openSystem();
    const { accounts, view } = openAccounts(system, transport, { residentsMax: 3 });
    for (const account of ['a', 'b', 'c', 'a', 'd']) {
      await accounts.ask('record', { account, sender: 'test', n: 0 });
    }
    expect(await view()).toMatchObject({ resident: 3, activations: 4, passivations: 1 });
    for (const account of ['a', 'c', 'd'])
      expect(await look(accounts, account)).toMatchObject({ incarnations: 1 });
    expect(await look(accounts, 'b')).toMatchObject({ incarnations: 2 });
  });

  test('who is at work keeps its place; others wait until it is done', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const { accounts, view } = openAccounts(system, transport, { residentsMax: 2, idleMs: 10 });
    const working = ['a', 'b'].map((account) => accounts.ask('waitAt', { account, gate: gate.address }));
    await gate.arrived(2);
    const waiting = look(accounts, 'c');
    await eventually(view).toMatchObject({ resident: 2, waiting: 1, passivations: 0 });
    gate.open();
    expect(await Promise.all(working)).toEqual([true, true]);
    expect(await waiting).toMatchObject({ incarnations: 1 });
  });

  test('a stream that is open keeps its producer', async () => {
    const system = await openSystem();
    const { accounts, view } = openAccounts(system, transport, { idleMs: 10, residentsMax: 1 });
    const items = accounts.stream('count', { account: 'a' });
    expect(await items.next()).toEqual({ done: false, value: 1 });
    const waiting = look(accounts, 'b');
    await eventually(view).toMatchObject({ resident: 1, waiting: 1 });
    expect(await items.next()).toEqual({ done: false, value: 2 });
    await items.return?.();
    expect(await waiting).toMatchObject({ incarnations: 1 });
  });

  test('a setup that fails answers who asked, and only them; the next message tries again', async () => {
    const system = await openSystem();
    const { accounts, view } = openAccounts(system, transport);
    accounts.tell('write', { account: 'broken', sender: 'test', n: 0 });
    await expect(look(accounts, 'broken')).rejects.toMatchObject({ code: 'actor_unavailable' });
    await expect(look(accounts, 'broken')).rejects.toMatchObject({ code: 'actor_unavailable' });
    expect(await look(accounts, 'sound')).toMatchObject({ incarnations: 1 });
    await eventually(view).toMatchObject({ resident: 1, held: 0, activations: 3 });
    const sums = await settledSums(system);
    expect(sums).toMatchObject({ queued: 0, deadLettered: 3 });
    expect(sums.sent).toBe(sums.handled + sums.deadLettered);
  });

  test('what a crash or a stop of its own left in the mailbox goes to the next incarnation, in order', async () => {
    const system = await openSystem();
    const { accounts } = openAccounts(system, transport);
    for (const n of upTo(60)) {
      accounts.tell('write', { account: 'a', sender: 'test', n });
      if (n % 20 === 5) accounts.tell('crash', { account: 'a' });
      if (n % 20 === 15) accounts.tell('stop', { account: 'a' });
    }
    const { entries, incarnations } = await look(accounts, 'a');
    expect(numbers(entries)).toEqual(upTo(60));
    expect(incarnations).toBe(7);
    expect(system.deadLetters()).toEqual([]);
  });

  test('what has no key is refused', async () => {
    const system = await openSystem();
    const { accounts } = openAccounts(system, transport);
    await expect(look(accounts, '')).rejects.toMatchObject({ code: 'message_refused' });
    await expect(look(accounts, 'x'.repeat(2_000))).rejects.toMatchObject({ code: 'message_refused' });
  });

  test('more mail than may wait is refused', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const { accounts, view } = openAccounts(system, transport, { residentsMax: 1, heldMax: 3 });
    const working = accounts.ask('waitAt', { account: 'a', gate: gate.address });
    await gate.arrived(1);
    for (const n of upTo(3)) accounts.tell('write', { account: `other ${n}`, sender: 'test', n });
    await expect(look(accounts, 'one too many')).rejects.toMatchObject({ code: 'mailbox_full' });
    gate.open();
    await working;
    await eventually(view).toMatchObject({ waiting: 0, held: 0, activations: 4 });
  });
});

test('a hold and a timer that holds keep an idle identity; another timer does not', async () => {
  const clock = new ManualClock();
  const system = await openSystem({ clock });
  const { accounts, view } = openAccounts(system, 'the same thread', { idleMs: 1_000 });
  accounts.tell('hold', { account: 'held' });
  accounts.tell('remind', { account: 'reminded', delayMs: 10_000, holds: true });
  accounts.tell('remind', { account: 'forgetful', delayMs: 10_000, holds: false });
  await eventually(view).toMatchObject({ resident: 3, held: 0 });
  await clock.advance(5_000);
  expect(await view()).toMatchObject({ resident: 2, passivations: 1 });
  await clock.advance(10_000);
  expect(await view()).toMatchObject({ resident: 1, passivations: 2 });
  accounts.tell('release', { account: 'held' });
  await clock.advance(5_000);
  expect(await view()).toMatchObject({ resident: 0, passivations: 3 });
  expect(system.actors().map(({ path }) => path)).toEqual(['', 'accounts']);
});

test('a drain handles what has come, for those without a place too', async () => {
  const system = await openSystem();
  const parent = openParent(system);
  stores += 1;
  const args = { store: String(stores) };
  const options = { keyOf: 'accountKey', residentsMax: 2 };
  const accounts = parent.spawn(...residents(accountActor, args, options), { id: 'accounts' });
  await parent.childStarted('accounts');
  for (const n of upTo(50)) accounts.tell('write', { account: `account ${n % 10}`, sender: 'test', n });
  await parent.stopChild('accounts', { drain: true });
  expect(await settledSums(system)).toMatchObject({ sent: 50, handled: 50 });
});

test('a stop stops all residents at once, and refuses what waits', async () => {
  const system = await openSystem();
  const gate = await openGate(system);
  const parent = openParent(system);
  stores += 1;
  const args = { store: String(stores), gate: gate.address };
  const accounts = parent.spawn(...residents(accountActor, args, { keyOf: 'accountKey', residentsMax: 5 }), {
    id: 'accounts',
  });
  const looks = upTo(5).map((n) => look(accounts, `slow ${n}`));
  await Promise.all(looks);
  const waiting = look(accounts, 'slow 5');
  await gate.arrived(1); // one of them leaves for it
  const stopped = parent.stopChild('accounts');
  await expect(waiting).rejects.toMatchObject({ code: 'actor_terminated' });
  await gate.arrived(5);
  gate.open();
  await stopped;
});

test('identities are spread over threads by their keys, and each stays on its own', async () => {
  const system = await openSystem();
  stores += 1;
  const placements = [onThread('one').placement, onThread('two').placement];
  const accounts = system.spawn(
    ...residents(
      accountActor,
      { store: String(stores) },
      { keyOf: 'accountKey', placements, residentsMax: 20 },
    ),
    { id: 'accounts' },
  );
  const keys = upTo(100).map((n) => `account ${n}`);
  for (const account of keys) accounts.tell('write', { account, sender: 'test', n: 0 });
  const homes = async () =>
    (await Promise.all(keys.map((account) => look(accounts, account)))).map(({ home }) => home.thread);
  const first = await homes();
  expect(new Set(first).size).toBe(2);
  expect(await homes()).toEqual(first);
  const routerRef = system.refTo(routerProtocol, present(accounts.address ?? undefined, 'its address'));
  const views = await Promise.all(
    (await routerRef.ask('$routees', {})).map(({ address }) =>
      system.refTo(residentsProtocol, present(address ?? undefined, 'a household')).ask('$residents', {}),
    ),
  );
  for (const { resident } of views) expect(resident).toBe(20);
  await expect(routerRef.ask('$resize', { routees: 3 })).rejects.toMatchObject({ code: 'pool_size_refused' });
});

test('a hundred thousand identities take no more memory than those that are resident', async () => {
  const system = await openSystem();
  const { accounts, view } = openAccounts(system, 'the same thread', { residentsMax: 200 });
  let most = 0;
  for (let from = 0; from < 100_000; from += 5_000) {
    for (let n = from; n < from + 5_000; n += 1)
      accounts.tell('write', { account: `account ${n}`, sender: 'test', n });
    await eventually(async () => (await view()).held).toBe(0);
    most = Math.max(most, system.actors().length);
  }
  expect(most).toBeLessThanOrEqual(202);
  expect(await view()).toMatchObject({
    resident: 200,
    waiting: 0,
    activations: 100_000,
    passivations: 99_800,
  });
}, 60_000);
