// Runs that other actors launch, and the outcomes that they wait for.

import { expect, test } from 'vitest';
import { runs } from '../../../src/actors/runs/protocol.ts';
import { orderOf } from '../../support/run-events.ts';
import { openRunsSystem, type RunsSystem, USER } from '../../support/runs-system.ts';

const ID = '00ddba11deadbeef';
const MODEL = 'lmstudio:double-1';

const launch = ({ system }: RunsSystem, run_id = ID, message = 'Hello') =>
  system
    .named(runs)
    .ask('launch', { run_id, user_id: USER, request: { message, model: MODEL }, origin: 'job' });

const outcome = ({ system }: RunsSystem, options: { deadlineMs?: number; user_id?: string } = {}) =>
  system
    .named(runs)
    .ask(
      'outcome',
      { run_id: ID, user_id: options.user_id ?? USER },
      { deadlineMs: options.deadlineMs ?? 10_000 },
    );

test('a run under a given id is launched once, however often it is asked for, and is not listed', async () => {
  const app = await openRunsSystem();
  await Promise.all([launch(app), launch(app)]);
  await launch(app, ID, 'Something else');
  await outcome(app);
  await launch(app);
  expect(app.double.requests).toHaveLength(1);
  expect(await app.status(ID)).toBe(undefined);
  expect(orderOf(await app.events(ID).rest()).at(-1)).toBe('close');
});

test('what cannot be run is refused as a start is', async () => {
  const app = await openRunsSystem();
  await expect(launch(app, ID, ' ')).rejects.toMatchObject({ code: 'message_required' });
});

test('the outcome is the same for who waited for it and for who asks later', async () => {
  const app = await openRunsSystem({
    script: { text: ['Hello ', 'there.'], fault: { kind: 'stall', afterChunks: 1 } },
  });
  await launch(app);
  await app.events(ID).until('chunk');
  const waited = outcome(app);
  await expect(outcome(app, { deadlineMs: 20 })).rejects.toMatchObject({ code: 'ask_timeout' });
  app.double.release();
  expect(await waited).toMatchObject({
    run_id: ID,
    status: 'done',
    reply: { answer: 'Hello there.', total_tokens: expect.any(Number), session_id: expect.any(String) },
    error: null,
  });
  expect(await outcome(app)).toEqual(await waited);
});

test('the outcome of a turn that failed says why, then and later', async () => {
  const app = await openRunsSystem();
  await app.system.named(runs).ask('launch', {
    run_id: ID,
    user_id: USER,
    request: { message: 'Hello', workflow_id: 'nowhere' },
    origin: 'job',
  });
  const failed = await outcome(app);
  expect(failed).toEqual({
    run_id: ID,
    status: 'failed',
    reply: null,
    error: { code: 'workflow_not_found', message: 'Unknown workflow: nowhere' },
  });
  expect(await outcome(app)).toEqual(failed);
});

test("there is no outcome of an unknown run, nor of somebody else's", async () => {
  const app = await openRunsSystem();
  await expect(outcome(app)).rejects.toMatchObject({ code: 'run_not_found' });
  await launch(app);
  await expect(outcome(app, { user_id: 'eve' })).rejects.toMatchObject({ code: 'run_not_found' });
  await outcome(app);
});
