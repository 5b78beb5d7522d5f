// Background chat over real HTTP: what is left behind is answered, kept, listed, and dismissed.

import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { CUT_TEXT_CHARS, JOBS_PER_USER_MAX, jobs } from '../../../src/actors/jobs/protocol.ts';
import { dismissJob, jobWhen, listJobs, readJob, submitJob } from '../../support/jobs.ts';
import { DOUBLE_MODEL, openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());
beforeEach(async () => {
  for (const { job_id } of await listJobs(app)) await dismissJob(app, job_id);
});

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;
const SILENT = { text: 'At last.', fault: { kind: 'silence' } } as const;

test('a list of very long texts is bounded: the newest are whole, the others where they are read', async () => {
  app.double.answer({ text: 'Short.' });
  const long = 'word '.repeat(180_000).trim();
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.push(await submitJob(app, `${n} ${long}`, { use_memory: false }));
  for (const id of ids) await jobWhen(app, id);
  const list = await listJobs(app);
  expect(list.map(({ job_id }) => job_id)).toEqual(ids.toReversed());
  expect(list.map(({ message }) => message.length)).toEqual([
    ...Array(2).fill(long.length + 2),
    ...Array(2).fill(CUT_TEXT_CHARS + 1),
  ]);
  expect(list.map(({ response }) => response)).toEqual(Array(4).fill('Short.'));
  expect((await readJob(app, ids[0] as string)).message).toBe(`0 ${long}`);
});

describe('a job', () => {
  test('is accepted with 202, answered in the background, and kept with its answer', async () => {
    app.double.answer({ text: 'The answer.', usage: { prompt_tokens: 7, completion_tokens: 5 } });
    const accepted = await app.call('POST', '/api/chat/background', {
      message: 'The question?',
      model: DOUBLE_MODEL,
    });
    expect(accepted.status).toBe(202);
    expect(accepted.body).toEqual({ job_id: expect.stringMatching(/^[0-9a-f]{16}$/), status: 'queued' });

    const job = await jobWhen(app, accepted.body.job_id);
    expect(job).toEqual({
      job_id: accepted.body.job_id,
      user_id: 'default',
      message: 'The question?',
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      profile_id: '',
      agent_profile_id: '',
      workflow_id: '',
      model: DOUBLE_MODEL,
      use_memory: '1',
      status: 'done',
      created_at: expect.stringMatching(TIMESTAMP),
      started_at: expect.stringMatching(TIMESTAMP),
      completed_at: expect.stringMatching(TIMESTAMP),
      response: 'The answer.',
      error: '',
      total_tokens: '12',
      total_time_ms: expect.stringMatching(/^\d+(\.\d+)?$/),
    });
    const rows = await app.messages(job.session_id);
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'The question?'],
      ['assistant', 'The answer.'],
    ]);
  });

  test('shows nothing that is not known yet', async () => {
    await app.configure({ jobs: { live_max: 1 } });
    app.double.answer(SILENT);
    const { requestCount } = app.double;
    const running = await submitJob(app, 'First', { session_id: 'named', use_memory: false });
    const queued = await submitJob(app, 'Second', {
      profile_id: 'p',
      agent_profile_id: 'a',
      workflow_id: '',
    });
    const known = { user_id: 'default', model: DOUBLE_MODEL, created_at: expect.any(String) };
    expect(await jobWhen(app, running, 'running')).toEqual({
      ...known,
      job_id: running,
      message: 'First',
      session_id: 'named',
      profile_id: '',
      agent_profile_id: '',
      workflow_id: '',
      use_memory: '0',
      status: 'running',
      started_at: expect.stringMatching(TIMESTAMP),
      response: '',
      error: '',
    });
    expect(await readJob(app, queued)).toEqual({
      ...known,
      job_id: queued,
      message: 'Second',
      session_id: '',
      profile_id: 'p',
      agent_profile_id: 'a',
      workflow_id: '',
      use_memory: '1',
      status: 'queued',
      response: '',
      error: '',
    });
    await app.double.received(requestCount); // Before it is to answer otherwise.
    app.double.answer({ text: 'Quick.' });
    await app.cancel(running);
    expect(await jobWhen(app, running)).toMatchObject({ status: 'failed', error: 'The turn was cancelled' });
    expect(await jobWhen(app, queued)).toMatchObject({ status: 'done', response: 'Quick.' });
    await app.configure({ jobs: { live_max: 4 } });
  });

  test('that fails says why, and is no run in the list of runs', async () => {
    app.double.answer({ fault: { kind: 'status', status: 400, message: 'no such parameter' } });
    const job = await jobWhen(app, await submitJob(app, 'Hello', { session_id: 'failing' }));
    expect(job).toMatchObject({
      status: 'failed',
      response: '',
      error: expect.stringContaining('no such parameter'),
      completed_at: expect.stringMatching(TIMESTAMP),
    });
    expect(job).not.toHaveProperty('total_tokens');
    expect(await app.listed(job.job_id)).toBeUndefined();
    expect(await app.messages('failing')).toMatchObject([{ role: 'user', content: 'Hello' }]);
  });

  test('that asks for what there is not fails with the reason', async () => {
    const job = await jobWhen(app, await submitJob(app, 'Hello', { workflow_id: 'nowhere' }));
    expect(job).toMatchObject({ status: 'failed', error: expect.stringContaining('nowhere') });
  });

  test('that keeps no memory leaves no transcript', async () => {
    app.double.answer({ text: 'Forgotten.' });
    const job = await jobWhen(app, await submitJob(app, 'Hello', { use_memory: false }));
    expect(job).toMatchObject({ status: 'done', use_memory: '0', response: 'Forgotten.' });
    await expect(app.messages(job.session_id)).rejects.toThrow('404');
  });

  test('without a message is refused', async () => {
    for (const body of [{}, { message: '' }, { message: ' \n' }]) {
      const { status, body: answer } = await app.call('POST', '/api/chat/background', body);
      expect({ status, answer }).toEqual({ status: 400, answer: { error: 'message is required' } });
    }
    for (const session_id of ['\ud800', 'x'.repeat(10_000)]) {
      const body = { message: 'Hello', session_id };
      expect((await app.call('POST', '/api/chat/background', body)).status).toBe(400);
    }
    expect(await listJobs(app)).toEqual([]);
  });

  test('that is unknown, or somebody else’s, is not found', async () => {
    app.double.answer({ text: 'Mine.' });
    const job_id = await submitJob(app, 'Hello');
    const door = app.troupe.system.named(jobs);
    await expect(door.ask('read', { job_id, user_id: 'eve' })).rejects.toMatchObject({
      code: 'job_not_found',
      kind: 'not_found',
    });
    expect(await door.ask('dismiss', { job_id, user_id: 'eve' })).toEqual({ deleted: false });
    expect(await door.ask('list', { user_id: 'eve' })).toEqual({ jobs: [] });
    await jobWhen(app, job_id);
    for (const unknown of ['0000000000000000', 'unknown', '%F0%9F%98%80', 'x'.repeat(99)]) {
      const path = `/api/chat/background/${unknown}`;
      const { status, body } = await app.call('GET', path);
      expect({ status, body }).toEqual({ status: 404, body: { error: 'Unknown background job' } });
      expect((await app.call('DELETE', path)).body).toEqual({ deleted: false });
    }
  });
});

describe('the inbox', () => {
  test('has the newest first, as many as are asked for', async () => {
    app.double.answer({ text: 'Answered.' });
    const ids = [];
    for (const message of ['one', 'two', 'three']) ids.push(await submitJob(app, message));
    const listed = await listJobs(app);
    expect(listed.map(({ message }) => message)).toEqual(['three', 'two', 'one']);
    expect((await listJobs(app, '?limit=2')).map(({ message }) => message)).toEqual(['three', 'two']);
    for (const id of ids) await jobWhen(app, id);
    expect((await listJobs(app)).map(({ response }) => response)).toEqual(ids.map(() => 'Answered.'));
    for (const limit of ['0', '51', 'many']) {
      expect((await app.call('GET', `/api/chat/background?limit=${limit}`)).status).toBe(400);
    }
  });

  test('forgets a job that is dismissed: one that is queued never runs, the turn of one that runs goes on', async () => {
    await app.configure({ jobs: { live_max: 1 } });
    app.double.answer([SILENT, { text: 'The third.' }]);
    const { requestCount } = app.double;
    const running = await submitJob(app, 'The first', { session_id: 'dismissed-running' });
    await app.double.received(requestCount); // The answers are given in the order of the requests.
    const queued = await submitJob(app, 'The second', { session_id: 'dismissed-queued' });
    const third = await submitJob(app, 'The third', { session_id: 'not-dismissed' });
    expect(await dismissJob(app, running)).toBe(true);
    expect(await dismissJob(app, queued)).toBe(true);
    expect(await dismissJob(app, queued)).toBe(false);
    expect((await listJobs(app)).map(({ job_id }) => job_id)).toEqual([third]);
    expect(await app.cancel(running)).toMatchObject({ body: { cancel_requested: true, status: 'running' } });
    expect(await jobWhen(app, third)).toMatchObject({ response: 'The third.' });
    expect(await app.messages('dismissed-running')).toMatchObject([{ content: 'The first' }]);
    await expect(app.messages('dismissed-queued')).rejects.toThrow('404');
    await app.configure({ jobs: { live_max: 4 } });
  });

  test(`holds ${JOBS_PER_USER_MAX}: the oldest that has ended makes room, and if none has, nobody is let in`, async () => {
    app.double.answer({ text: 'Early.' });
    const early = [await submitJob(app, 'early 1'), await submitJob(app, 'early 2')];
    for (const id of early) await jobWhen(app, id);
    app.double.answer(SILENT);
    for (let i = 0; i < JOBS_PER_USER_MAX; i += 1) await submitJob(app, `late ${i}`);
    const listed = await listJobs(app);
    expect(listed).toHaveLength(JOBS_PER_USER_MAX);
    expect(listed.map(({ message }) => message)).not.toContain('early 2');

    const refused = await app.call('POST', '/api/chat/background', { message: 'One more' });
    expect(refused.status).toBe(503);
    expect(refused.body).toEqual({ error: 'Too many background jobs are waiting' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);

    app.double.answer({ text: 'Late.' });
    for (const { job_id, status } of await listJobs(app)) if (status === 'running') await app.cancel(job_id);
    for (const { job_id } of listed) await jobWhen(app, job_id);
    await submitJob(app, 'One more');
  });
});

describe('the queue', () => {
  test(`carries jobs.live_max at once, and one of a conversation at a time, in order`, async () => {
    await app.configure({ jobs: { live_max: 2 } });
    const bothOpen = Promise.withResolvers<void>();
    let open = 0;
    let openMax = 0;
    app.double.answer(async ({ body, ended }) => {
      open += 1;
      openMax = Math.max(openMax, open);
      void ended.then(() => (open -= 1));
      if (open === 2) bothOpen.resolve();
      await bothOpen.promise;
      return { text: `Re: ${body.messages?.at(-1)?.content}`, firstDelayMs: 15 };
    });
    const ids = [];
    for (let i = 0; i < 8; i += 1) ids.push(await submitJob(app, `same ${i}`, { session_id: 'same' }));
    for (let i = 0; i < 4; i += 1) ids.push(await submitJob(app, `other ${i}`));
    const ended = [];
    for (const id of ids) ended.push(await jobWhen(app, id));
    expect(ended.map(({ response }) => response)).toEqual(ended.map(({ message }) => `Re: ${message}`));
    expect(openMax).toBe(2);
    expect((await app.messages('same')).map(({ content }) => content)).toEqual(
      Array.from({ length: 8 }, (_, i) => [`same ${i}`, `Re: same ${i}`]).flat(),
    );
    await app.configure({ jobs: { live_max: 4 } });
  });

  test('feels a higher limit at once', async () => {
    await app.configure({ jobs: { live_max: 1 } });
    app.double.answer(SILENT);
    const ids = [await submitJob(app, 'First'), await submitJob(app, 'Second')];
    await jobWhen(app, ids[0] as string, 'running');
    expect(await readJob(app, ids[1] as string)).toMatchObject({ status: 'queued' });
    await app.configure({ jobs: { live_max: 4 } });
    for (const id of ids) {
      await jobWhen(app, id, 'running');
      await app.cancel(id);
      await jobWhen(app, id);
    }
  });

  test('goes on after a restart: what was queued runs, what nobody had begun to answer is resumed', async () => {
    await app.configure({ jobs: { live_max: 1 } });
    app.double.answer(SILENT);
    const { requestCount } = app.double;
    const running = await submitJob(app, 'Was running', { session_id: 'over-restart-1' });
    const queued = await submitJob(app, 'Was queued', { session_id: 'over-restart-2' });
    await app.double.received(requestCount); // A request that came later would be answered, and cut by the stop.
    app.double.answer({ text: 'After the restart.' });
    await app.restart();
    for (const id of [running, queued]) {
      expect(await jobWhen(app, id)).toMatchObject({ status: 'done', response: 'After the restart.' });
    }
    for (const [i, message] of ['Was running', 'Was queued'].entries()) {
      const rows = await app.messages(`over-restart-${i + 1}`);
      expect(rows.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([message]);
    }
    await app.configure({ jobs: { live_max: 4 } });
  });
});
