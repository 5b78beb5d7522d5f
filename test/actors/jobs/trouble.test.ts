// Jobs when something is in their way: no place, a full disk, a run that is gone, time.

import { describe, expect, test } from 'vitest';
import { JOB_LIFETIME_MS, type Job, jobs } from '../../../src/actors/jobs/protocol.ts';
import { openJobStore } from '../../../src/actors/jobs/store.ts';
import { openRunStore } from '../../../src/actors/runs/store.ts';
import type { Storage } from '../../../src/storage/contract.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { eventually } from '../../support/eventually.ts';
import { NotingClock } from '../../support/noting-clock.ts';
import { openRunsSystem, type RunsSystem, USER } from '../../support/runs-system.ts';
import { fillableDisk, unflushableDisk } from '../../support/tampered-storage.ts';

const MODEL = 'lmstudio:double-1';
const FIRST = '00000000000000f1';
const SECOND = '00000000000000f2';
const SESSION = 'left behind';

const submit = async ({ system }: RunsSystem, message: string): Promise<string> => {
  const asked = { message, model: MODEL, user_id: USER };
  return (await system.named(jobs).ask('submit', asked)).job_id;
};
const read = ({ system }: RunsSystem, job_id: string): Promise<Job> =>
  system.named(jobs).ask('read', { job_id, user_id: USER });
const statusOf = async (app: RunsSystem, jobId: string): Promise<string> => (await read(app, jobId)).status;

interface LeftJob {
  readonly jobId: string;
  readonly isRunning?: boolean;
  readonly createdAtMs?: number;
}

/** Files a job as an earlier process would have left it. */
async function fileJob(
  storage: Storage,
  { jobId, isRunning = false, createdAtMs = 1_000 }: LeftJob,
): Promise<void> {
  const store = openJobStore(storage);
  const asked = { jobId, userId: USER, request: { model: MODEL }, message: 'Left behind' };
  await store.accept({ ...asked, sessionId: SESSION, createdAtMs });
  if (isRunning) await store.begin(jobId, createdAtMs + 1);
}

/** A system whose disk has no room for runs as long as it is full. */
async function openRefusing() {
  const clock = new NotingClock();
  const disk = fillableDisk({ table: 'runs' });
  disk.isFull = true;
  const app = await openRunsSystem({ clock, storage: disk.storage });
  return { app, clock, disk };
}

test('a job that was refused, because its commit could not be flushed, is not in the inbox', async () => {
  const clock = new ManualClock();
  const disk = unflushableDisk('jobs');
  const app = await openRunsSystem({ clock, storage: disk.storage });
  disk.failures = 1;
  await expect(submit(app, 'Refused')).rejects.toMatchObject({ code: 'storage_full' });
  const inbox = async () => (await app.system.named(jobs).ask('list', { user_id: USER })).jobs;
  await eventually(inbox).toEqual([]);
});

describe('a job that is refused a place', () => {
  test('waits for it, ever longer, and keeps its turn', async () => {
    const { app, clock, disk } = await openRefusing();
    const first = await submit(app, 'First');
    await eventually(() => disk.refusals).toBe(1);
    const second = await submit(app, 'Second');
    for (const [i, delayMs] of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000].entries()) {
      await eventually(() => clock.started(delayMs)).toBe(1);
      await clock.advance(delayMs - 1);
      expect(disk.refusals).toBe(2 * i + 1);
      await clock.advance(1);
      await eventually(() => disk.refusals).toBe(2 * i + 3);
      expect([await statusOf(app, first), await statusOf(app, second)]).toEqual(['queued', 'queued']);
    }
    disk.isFull = false;
    await eventually(() => clock.started(15_000)).toBe(1);
    await clock.advance(15_000);
    await eventually(() => statusOf(app, first)).toBe('done');
    await eventually(() => statusOf(app, second)).toBe('done');
    const asked = app.double.requests.map(({ body }) => body.messages?.at(-1)?.content);
    expect(asked).toEqual(['First', 'Second']);
  });

  test('never runs when it is dismissed meanwhile', async () => {
    const { app, clock, disk } = await openRefusing();
    const dismissed = await submit(app, 'Dismissed');
    await eventually(() => clock.started(500)).toBe(1);
    expect(await app.system.named(jobs).ask('dismiss', { job_id: dismissed, user_id: USER })).toEqual({
      deleted: true,
    });
    disk.isFull = false;
    const next = await submit(app, 'Next');
    await clock.advance(500);
    await eventually(() => statusOf(app, next)).toBe('done');
    expect(app.double.requestCount).toBe(1);
    expect(await app.status(dismissed)).toBeUndefined();
  });
});

describe('a job of the last process', () => {
  test('that waited is carried, in the order of acceptance whatever the clock said', async () => {
    const app = await openRunsSystem({
      async left(storage) {
        await fileJob(storage, { jobId: FIRST, createdAtMs: 9_000 });
        await fileJob(storage, { jobId: SECOND, createdAtMs: 1_000 });
      },
    });
    await eventually(() => statusOf(app, SECOND)).toBe('done');
    await eventually(() => statusOf(app, FIRST)).toBe('done');
    const listed = await app.system.named(jobs).ask('list', { user_id: USER });
    expect(listed.jobs.map(({ job_id }) => job_id)).toEqual([SECOND, FIRST]);
  });

  test('whose run is not known any more has failed, and is not run again', async () => {
    const app = await openRunsSystem({
      left: (storage) => fileJob(storage, { jobId: FIRST, isRunning: true }),
    });
    await eventually(() => statusOf(app, FIRST)).toBe('failed');
    expect(await read(app, FIRST)).toMatchObject({ error: 'Unknown run', response: '' });
    expect(app.double.requestCount).toBe(0);
  });

  test('that was launched, but not marked as running, is carried once', async () => {
    const app = await openRunsSystem({
      async left(storage) {
        await fileJob(storage, { jobId: FIRST });
        await storage.write('flushed', (tx) =>
          tx.put(openRunStore(storage).records, FIRST, {
            run_id: FIRST,
            user_id: USER,
            session_id: SESSION,
            origin: 'job',
            status: 'running',
            request: { message: 'Left behind', model: MODEL, session_id: SESSION },
            resumes: 0,
            createdAtMs: 1_000,
            updatedAtMs: 1_000,
          }),
        );
      },
    });
    await eventually(async () => ['done', 'failed'].includes(await statusOf(app, FIRST))).toBe(true);
    const questions = (await app.rows(SESSION)).filter(({ role }) => role === 'user');
    expect(questions.map(({ content }) => content)).toEqual(['Left behind']);
  });
});

describe('a job that has ended', () => {
  test('is saved as soon as there is room for it', async () => {
    const clock = new NotingClock();
    const disk = fillableDisk({ table: 'jobs' });
    const app = await openRunsSystem({
      clock,
      script: { text: 'Saved late.', fault: { kind: 'silence' } },
      storage: disk.storage,
    });
    const jobId = await submit(app, 'Hello');
    await eventually(() => statusOf(app, jobId)).toBe('running');
    disk.isFull = true;
    app.double.release();
    await eventually(() => clock.started(1_000)).toBe(1);
    await clock.advance(1_000);
    await eventually(() => clock.started(1_000)).toBe(1);
    expect(disk.refusals).toBe(2);
    expect(await statusOf(app, jobId)).toBe('running');
    disk.isFull = false;
    await clock.advance(1_000);
    await eventually(() => statusOf(app, jobId)).toBe('done');
    expect((await read(app, jobId)).response).toBe('Saved late.');
  });

  test('is forgotten after a day', async () => {
    const clock = new ManualClock();
    const app = await openRunsSystem({
      clock,
      script: [{ text: 'Quick.' }, { text: 'Slow.', fault: { kind: 'silence' } }],
    });
    const store = openJobStore(app.storage);
    const quick = await submit(app, 'Be quick');
    await eventually(() => statusOf(app, quick)).toBe('done');
    await clock.advance(JOB_LIFETIME_MS - 1);
    expect(await statusOf(app, quick)).toBe('done');
    const slow = await submit(app, 'Take your time');
    await eventually(() => statusOf(app, slow)).toBe('running');
    await clock.advance(1);
    await expect(read(app, quick)).rejects.toMatchObject({ code: 'job_not_found' });
    expect((await app.system.named(jobs).ask('list', { user_id: USER })).jobs).toMatchObject([
      { job_id: slow, status: 'running' },
    ]);
    await clock.advance(60_000);
    await eventually(() => store.find(quick)).toBeUndefined();
    app.double.release();
    await eventually(() => statusOf(app, slow)).toBe('done');
  });
});
