// Jobs: the routes of background chat, as a client uses them.

import { expect } from 'vitest';
import type { Job } from '../../src/actors/jobs/protocol.ts';
import type { ChatOptions, ServiceClient } from './troupe.ts';
import { DOUBLE_MODEL } from './troupe.ts';

const PATIENCE = { timeout: 20_000, interval: 20 } as const;

/** Leaves a turn behind; answers the job's id. @throws when it is not accepted */
export async function submitJob(
  app: ServiceClient,
  message: string,
  options: ChatOptions = {},
): Promise<string> {
  const asked = { model: DOUBLE_MODEL, message, ...options };
  const { status, body } = await app.call('POST', '/api/chat/background', asked);
  if (status !== 202) throw new Error(`not accepted: ${status} ${JSON.stringify(body)}`);
  return body.job_id;
}

/** @throws when there is no such job */
export async function readJob(app: ServiceClient, jobId: string): Promise<Job> {
  const { status, body } = await app.call('GET', `/api/chat/background/${jobId}`);
  if (status !== 200) throw new Error(`no such job: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** The job once it has that status, or one that it ends with. */
export async function jobWhen(
  app: ServiceClient,
  jobId: string,
  ...statuses: readonly Job['status'][]
): Promise<Job> {
  const ends = statuses.length > 0 ? statuses : ['done', 'failed'];
  await expect.poll(async () => ends.includes((await readJob(app, jobId)).status), PATIENCE).toBe(true);
  return readJob(app, jobId);
}

export async function listJobs(app: ServiceClient, query = ''): Promise<readonly Job[]> {
  const { body } = await app.call('GET', `/api/chat/background${query}`);
  return body.jobs;
}

/** True when there was something to dismiss. */
export async function dismissJob(app: ServiceClient, jobId: string): Promise<boolean> {
  const { body } = await app.call('DELETE', `/api/chat/background/${jobId}`);
  return body.deleted;
}
