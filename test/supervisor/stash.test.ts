// Stash: mail that an actor sets aside, and takes back in order.

import { describe, expect, test } from 'vitest';
import { openProbe } from '../../src/supervisor/testkit/index.ts';
import { on, openSystem, settledSums, TRANSPORTS } from '../support/actor-system.ts';
import { clerkActor } from '../support/clerk-actor.ts';
import { openParent } from '../support/parent.ts';

describe.each(TRANSPORTS)('an actor on %s', (transport) => {
  test('takes back what it set aside in order, and before what came later', async () => {
    const system = await openSystem();
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk' }));
    const early = [clerk.ask('serve', 1), clerk.ask('serveLater', 2)];
    clerk.tell('file', 3);
    expect(await clerk.ask('served', {})).toEqual([]);
    clerk.tell('open', {});
    const late = clerk.ask('serve', 4);
    expect(await Promise.all([...early, late])).toEqual([1, 2, 4]);
    expect(await clerk.ask('served', {})).toEqual([1, 2, 3, 4]);
  });

  test('keeps the order when what it takes back is set aside again', async () => {
    const system = await openSystem();
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk' }));
    const asked = [1, 2, 3, 4].map((n) => clerk.ask('serve', n));
    clerk.tell('serveOne', {});
    clerk.tell('serveOne', {});
    expect(await Promise.all(asked.slice(0, 2))).toEqual([1, 2]);
    clerk.tell('open', {});
    expect(await Promise.all(asked)).toEqual([1, 2, 3, 4]);
    expect(await clerk.ask('served', {})).toEqual([1, 2, 3, 4]);
  });

  test('refuses more than its mailbox may hold, as a full mailbox does', async () => {
    const system = await openSystem();
    const mailbox = { lengthMax: 3, whenFull: 'reject' } as const;
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk', mailbox }));
    const kept: Promise<unknown>[] = [];
    for (let n = 0; n < 3; n += 1) {
      kept.push(clerk.ask('serve', n));
      await clerk.ask('served', {});
    }
    await expect(clerk.ask('serve', 3)).rejects.toMatchObject({ code: 'mailbox_full', retryable: true });
    const { rejected, queued, handled, sent } = await settledSums(system);
    expect({ rejected, queued }).toEqual({ rejected: 1, queued: 3 });
    expect(handled + rejected + queued).toBe(sent);
    clerk.tell('open', {});
    expect(await Promise.all(kept)).toEqual([0, 1, 2]);
  });

  test('gives up the oldest of its stash, where its mailbox would', async () => {
    const system = await openSystem();
    const mailbox = { lengthMax: 2, whenFull: 'drop_oldest' } as const;
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk', mailbox }));
    const asked: Promise<unknown>[] = [];
    for (let n = 0; n < 3; n += 1) {
      asked.push(clerk.ask('serve', n).catch((fault: { readonly code: string }) => fault.code));
      await clerk.ask('served', {});
    }
    clerk.tell('open', {});
    expect(await Promise.all(asked)).toEqual(['mailbox_full', 1, 2]);
  });

  test('fails the asks that it set aside at once when it ends, and at their deadline when it does not', async () => {
    const system = await openSystem();
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk' }));
    await expect(clerk.ask('serve', 1, { deadlineMs: 20 })).rejects.toMatchObject({ code: 'ask_timeout' });
    const asked = [2, 3].map((n) => clerk.ask('serve', n, { deadlineMs: 600_000 }));
    asked.push(clerk.ask('serveLater', 4, { deadlineMs: 600_000 }));
    clerk.tell('file', 5);
    await clerk.ask('served', {});
    clerk.tell('stop', {});
    for (const one of asked) await expect(one).rejects.toMatchObject({ code: 'actor_terminated' });
    const { sent, handled, rejected, deadLettered, queued } = await settledSums(system);
    expect(handled + rejected + deadLettered + queued).toBe(sent);
    expect({ rejected, deadLettered, queued }).toEqual({ rejected: 0, deadLettered: 5, queued: 0 });
  });

  test('may not set a stream aside', async () => {
    const system = await openSystem();
    const probe = openProbe(system);
    const clerk = system.spawn(clerkActor, undefined, on(transport, { id: 'clerk' }));
    probe.watch(await clerk.ask('whereabouts', {}));
    await expect(clerk.stream('browse', {}).next()).rejects.toMatchObject({ code: 'actor_crashed' });
    expect(await probe.next()).toMatchObject({ reason: { message: expect.stringContaining('stream') } });
  });
});

test('only a message that is being handled can be set aside', async () => {
  const parent = openParent(await openSystem());
  expect(() => parent.stash()).toThrow('no message');
});
