// What a run does with time: waits for a silent or a busy model, and is forgotten in the end. The clock is moved by hand.

import { describe, expect, test } from 'vitest';
import { RUN_LIFETIME_MS, runs } from '../../../src/actors/runs/protocol.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { orderOf, payloadOf, payloadsOf } from '../../support/run-events.ts';
import { openRunsSystem, USER } from '../../support/runs-system.ts';

describe('a model that is silent', () => {
  test('is said to be waited for after 20 s, and every 30 s from then on', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({ clock, script: { text: 'At last.', fault: { kind: 'silence' } } });
    const events = app.events(await app.start({ message: 'Hello' }));
    await events.until('status', ({ phase }) => phase === 'thinking');
    await app.double.received(0);
    await clock.advance(19_999);
    for (const [byMs, seconds] of [
      [1, 20],
      [30_000, 50],
      [30_000, 80],
    ] as const) {
      await clock.advance(byMs);
      const { data } = await events.until('status');
      expect(data).toEqual({ phase: 'thinking', label: `Still waiting on the model (${seconds}s)…` });
    }
    app.double.release();
    expect(orderOf(await events.rest()).slice(-3)).toEqual(['chunk', 'done', 'close']);
  });

  test('is not said to be waited for any more once it has begun to answer', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({
      clock,
      script: { text: ['At', ' last.'], fault: { kind: 'stall', afterChunks: 1 } },
    });
    const events = app.events(await app.start({ message: 'Hello' }));
    await events.until('chunk');
    await clock.advance(120_000);
    app.double.release();
    const labels = payloadsOf(await events.rest(), 'status').map(({ label }) => label);
    expect(labels).toContain('Thinking…');
    expect(labels.filter((label) => label.startsWith('Still waiting'))).toEqual([]);
  });
});

describe('a provider that limits the rate and does not say for how long', () => {
  test('is waited for 15, 30, 60 and 120 s, then given up', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({ clock, script: { fault: { kind: 'status', status: 429 } } });
    const runId = await app.start({ message: 'Hello' });
    const events = app.events(runId);
    for (const [i, seconds] of [15, 30, 60, 120].entries()) {
      const { data } = await events.until('status', ({ label }) => label.startsWith('Rate-limited'));
      expect(data.label).toBe(`Rate-limited by the provider — retrying in ${seconds}s (${i + 1}/4)…`);
      await clock.advance(seconds * 1_000);
    }
    expect(payloadOf(await events.rest(), 'error').code).toBe('provider_rate_limited');
  });
});

describe('a run that is over', () => {
  test('can be attached to for two hours, then it is forgotten; one that still runs is not', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({
      clock,
      script: [{ text: 'Quick.' }, { text: 'Slow.', fault: { kind: 'silence' } }],
    });
    const quick = await app.start({ message: 'Be quick' });
    await app.events(quick).rest();
    await clock.advance(RUN_LIFETIME_MS - 1);
    expect(orderOf(await app.events(quick).rest())).toContain('done');
    // Not earlier: no call of a model lasts for two hours.
    const slow = await app.start({ message: 'Take your time' });
    await app.events(slow).until('status', ({ phase }) => phase === 'thinking');
    await clock.advance(120_000);
    await expect.poll(() => app.status(quick)).toBe(undefined);
    expect(await app.events(quick).rest()).toMatchObject([{ event: 'run_missing' }]);
    expect(await app.status(slow)).toBe('running');
  });
});

describe('a session without memory', () => {
  test('is forgotten after an hour without a turn', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({ clock });
    const quiet = { session_id: 'quiet', use_memory: false };
    const saidTo = async (message: string): Promise<number> => {
      const asked = app.double.requestCount;
      await app.events(await app.start({ ...quiet, message })).rest();
      const { body } = await app.double.received(asked);
      return (body.messages ?? []).filter(({ role }) => role === 'user').length;
    };
    expect(await saidTo('One')).toBe(1);
    await clock.advance(3_599_000);
    expect(await saidTo('Two')).toBe(2);
    await clock.advance(3_601_000);
    expect(await saidTo('Three')).toBe(1);
  });
});

describe('a run of somebody else', () => {
  test('cannot be steered, is not listed, and is unknown to whoever attaches or cancels', async () => {
    const app = await openRunsSystem({ script: { text: 'Slow.', fault: { kind: 'silence' } } });
    const directory = app.system.named(runs);
    const run_id = await app.start({ message: 'Mine' });
    const stranger = { user_id: 'mallory' };
    await expect(directory.ask('steer', { run_id, message: 'Hi', ...stranger })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await app.status(run_id, 'mallory')).toBe(undefined);
    expect(await app.events(run_id, { userId: 'mallory' }).rest()).toMatchObject([{ event: 'run_missing' }]);
    expect(await directory.ask('cancel', { run_id, ...stranger })).toEqual({
      run_id,
      cancel_requested: false,
      status: null,
    });
    expect(await app.status(run_id)).toBe('running');
    await directory.ask('cancel', { run_id, user_id: USER });
    const events = await app.events(run_id).rest();
    expect(payloadsOf(events, 'steer')).toEqual([]);
  });
});
