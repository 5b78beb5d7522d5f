// Promise 4: every ask has a deadline and an AbortSignal, and fails at once when its target dies.

import { describe, expect, test } from 'vitest';
import { call, protocol, type Ref, tell } from '../../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { on, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { openGate } from '../../support/gate.ts';
import { scribeActor } from '../../support/scribe-actor.ts';

/** Far beyond the test's own time limit: what is told "at once" is not told by this. */
const NEVER_MS = 600_000;

const strangerProtocol = protocol('stranger', {
  shout: tell<string>(),
  wonder: call<Record<string, never>, never>(),
});

/** Until the handler has heard of it: where a thread stands still for longer than that, the question never comes to the handler. */
async function missedDeadline(
  counter: Ref<typeof counterProtocol>,
  name: 'never' | 'untilAborted',
): Promise<void> {
  const ask = async (): Promise<number> => {
    const asked = counter.ask(name, {}, { deadlineMs: 20 });
    await expect(asked).rejects.toMatchObject({ code: 'ask_timeout' });
    return counter.ask('aborted', {});
  };
  await expect.poll(ask).toBeGreaterThan(0);
}

describe.each(TRANSPORTS)('4, asks of an actor on %s', (transport) => {
  const open = (system: ActorSystem): Ref<typeof counterProtocol> =>
    system.spawn(counterActor, { start: 5 }, on(transport, { id: 'counter' }));
  const openCounter = async (): Promise<Ref<typeof counterProtocol>> => open(await openSystem());

  test('a declared fault answers with its code, its details and its sentence', async () => {
    const counter = await openCounter();
    await expect(counter.ask('refuse', 'not today')).rejects.toMatchObject({
      code: 'counter_overflow',
      kind: 'conflict',
      message: 'not today',
      details: { total: 5 },
    });
    expect(await counter.ask('total', {})).toBe(5);
  });

  test('an ask that is not answered fails at its deadline, and the handler hears of it', async () => {
    const counter = await openCounter();
    await counter.ask('total', {});
    await missedDeadline(counter, 'never');
  });

  test('an aborted ask fails at once, and the handler hears of it', async () => {
    const counter = await openCounter();
    await counter.ask('total', {});
    const controller = new AbortController();
    const asked = counter.ask('never', {}, { deadlineMs: NEVER_MS, signal: controller.signal });
    await counter.ask('total', {}); // it is being worked on now
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: 'ask_cancelled' });
    await expect.poll(() => counter.ask('aborted', {})).toBe(1);
  });

  test('an ask with a signal that is aborted already is not sent', async () => {
    const counter = await openCounter();
    const asked = counter.ask('add' as 'total', {}, { signal: AbortSignal.abort() });
    await expect(asked).rejects.toMatchObject({ code: 'ask_cancelled' });
    expect(await counter.ask('total', {})).toBe(5);
  });

  test('an ask that was given up while it waited in the mailbox reaches its handler as aborted', async () => {
    const system = await openSystem();
    const gate = await openGate(system);
    const scribe = system.spawn(scribeActor, { gate: gate.address }, on(transport, { id: 'scribe' }));
    const controller = new AbortController();
    const asked = scribe.ask('isAborted', {}, { deadlineMs: NEVER_MS, signal: controller.signal });
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: 'ask_cancelled' });
    await gate.arrived(1);
    gate.open();
    expect(await scribe.ask('abortedOnArrival', {})).toBe(1);
  });

  test('work that stops because its asker gave up is no crash', async () => {
    const counter = await openCounter();
    await counter.ask('total', {});
    await missedDeadline(counter, 'untilAborted');
    expect(await counter.ask('total', {})).toBe(5);
  });

  test('every pending ask fails at once when its target crashes, those in its mailbox too', async () => {
    const counter = await openCounter();
    const pending = Array.from({ length: 50 }, () => counter.ask('never', {}, { deadlineMs: NEVER_MS }));
    counter.tell('crash', 'boom');
    pending.push(counter.ask('total', {}, { deadlineMs: NEVER_MS }));
    const outcomes = await Promise.allSettled(pending);
    expect(new Set(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code))).toEqual(
      new Set(['actor_terminated']),
    );
  });

  test('an ask that its own handler crashes on says so, without the reason', async () => {
    const counter = await openCounter();
    const asked = counter.ask('crashOnAsk', 'the secret is 42');
    await expect(asked).rejects.toMatchObject({ code: 'actor_crashed', kind: 'internal' });
    await expect(asked).rejects.not.toMatchObject({ message: expect.stringContaining('42') });
  });

  test('an ask of an actor that is gone, or of a name that nobody bears, fails at once', async () => {
    const system = await openSystem();
    const counter = open(system);
    counter.tell('stop', {});
    await expect(counter.ask('total', {}, { deadlineMs: NEVER_MS })).rejects.toMatchObject({
      code: 'actor_terminated',
      retryable: true,
    });
    await expect(system.named(counterProtocol).ask('total', {})).rejects.toMatchObject({
      code: 'actor_unavailable',
      retryable: true,
    });
  });

  test('a message that the actor does not understand is refused, and costs it nothing', async () => {
    const system = await openSystem();
    const counter = open(system);
    const stranger = system.refTo(strangerProtocol, await counter.ask('whereabouts', {}));
    stranger.tell('shout', 'hey');
    await expect(stranger.ask('wonder', {})).rejects.toMatchObject({ code: 'message_refused' });
    expect(await counter.ask('total', {})).toBe(5);
  });
});
