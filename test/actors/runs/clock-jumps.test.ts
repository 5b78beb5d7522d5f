// The wall clock jumps by a day while runs are live and waiting, jobs are queued, and things expire.

import { describe, expect, test } from 'vitest';
import { jobs } from '../../../src/actors/jobs/protocol.ts';
import { RUN_LIFETIME_MS } from '../../../src/actors/runs/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { numberingFlaws, orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { openRunsSystem, USER } from '../../support/runs-system.ts';

const DAY_MS = 24 * 3600 * 1000;
const SWEEP_MS = 60_000;
const MODEL = 'lmstudio:double-1';

describe.each([
  ['forwards', DAY_MS],
  ['backwards', -DAY_MS],
])('a clock that jumps %s', (_, byMs) => {
  test('neither ends nor forgets a live run, and its durations are those of its work', async () => {
    const clock = new JumpingClock();
    const note = { name: 'scratchpad_note', arguments: { note: 'noted' } };
    const app = await openRunsSystem({
      clock,
      script: [
        { text: 'I note it.', toolCalls: [note], fault: { kind: 'silence' } },
        { text: ['All ', 'done.'], fault: { kind: 'stall', afterChunks: 1 } },
      ],
    });
    const runId = await app.start({ message: 'Note it', session_id: 'jumped' });
    const reader = app.events(runId);
    await reader.until('status', ({ phase }) => phase === 'thinking');
    await app.double.received(0);
    clock.jump(byMs);
    await clock.advance(SWEEP_MS);
    expect(await app.status(runId)).toBe('running');
    app.double.release();
    const events = await reader.rest();
    expect(textOf(events)).toBe('I note it.All done.');
    expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
    expect(numberingFlaws(events)).toEqual([]);
    expect(payloadOf(events, 'done').total_time_ms).toBe(SWEEP_MS);
    for (const { duration_ms } of payloadsOf(events, 'tool_result')) expect(duration_ms).toBe(0);
    expect(await app.status(runId)).toBe('done');
    expect(await app.events(runId).rest()).toEqual(events);
    expect((await app.rows('jumped')).at(-1)?.metadata).toMatchObject({ latency_ms: SWEEP_MS });
  });

  test('leaves those that wait in their order, runs and jobs', async () => {
    const clock = new JumpingClock();
    const app = await openRunsSystem({
      clock,
      script: ({ body }) => ({
        text: `Re: ${body.messages?.at(-1)?.content}`,
        fault: { kind: 'silence' },
      }),
    });
    const session_id = 'queued';
    const first = await app.start({ message: 'First', session_id });
    const second = await app.start({ message: 'Second', session_id });
    const submit = (message: string) =>
      app.system.named(jobs).ask('submit', { message, model: MODEL, session_id, user_id: USER });
    await submit('Third');
    clock.jump(byMs);
    await submit('Fourth');
    const inbox = async () => (await app.system.named(jobs).ask('list', { user_id: USER })).jobs;
    // Nothing is asked for any more whose time would pass with that of the clock.
    await eventually(async () => (await inbox()).map(({ status }) => status)).toEqual(['queued', 'running']);
    await clock.advance(SWEEP_MS);
    expect([await app.status(first), await app.status(second)]).toEqual(['running', 'running']);
    app.double.release();
    await eventually(async () => (await inbox()).map(({ status }) => status)).toEqual(['done', 'done']);
    expect((await inbox()).map(({ message }) => message)).toEqual(['Fourth', 'Third']);
    expect((await app.rows(session_id)).map(({ content }) => content)).toEqual(
      ['First', 'Second', 'Third', 'Fourth'].flatMap((message) => [message, `Re: ${message}`]),
    );
    for (const runId of [first, second]) {
      const events = await app.events(runId).rest();
      expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
      expect(payloadOf(events, 'done').total_time_ms).toBeGreaterThanOrEqual(0);
    }
  });
});

test('what ended while the clock was a day ahead is still forgotten, once that day is over', async () => {
  const clock = new JumpingClock();
  const app = await openRunsSystem({ clock, script: { text: 'Quick.' } });
  clock.jump(DAY_MS);
  const runId = await app.start({ message: 'Hello' });
  await app.events(runId).rest();
  await eventually(() => app.status(runId)).toBe('done');
  clock.jump(-DAY_MS);
  await clock.advance(RUN_LIFETIME_MS);
  expect(await app.status(runId)).toBe('done');
  await clock.advance(DAY_MS + SWEEP_MS);
  await eventually(() => app.status(runId)).toBeUndefined();
});
