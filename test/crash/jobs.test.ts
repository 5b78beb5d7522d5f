// kill -9 while background jobs are accepted, queued and running. Whatever was accepted ends, each once in its conversation.

import { beforeAll, expect, test } from 'vitest';
import { seededRandom } from '../../src/std/ids.ts';
import { jobWhen, listJobs, submitJob } from '../support/jobs.ts';
import {
  type ProviderDoubleProcess,
  startProviderDoubleProcess,
} from '../support/provider-double-process.ts';
import { type ServiceProcess, spawnService } from '../support/service-process.ts';
import { temporaryFolder } from '../support/storage.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const KILLS = 4;
const JOBS_PER_LIFE = 8;
const CONVERSATIONS = 6;
const SUBMITTED_WITHIN_MS = 300;
/** After some of them were accepted. */
const KILLED_WITHIN_MS = 600;

const ANSWER = 'An answer that takes a while to be told.';
const SCRIPT = {
  rules: [
    {
      when: { lastRole: 'user', lastText: 'note' },
      reply: { toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'noted' } }], firstDelayMs: 60 },
    },
    { when: {}, reply: { text: ANSWER, chunkDelayMs: 60 } },
  ],
};

let double: ProviderDoubleProcess;
beforeAll(async () => {
  double = await startProviderDoubleProcess({ script: SCRIPT });
  return () => double.stop();
});

interface LeftBehind {
  readonly message: string;
  readonly session_id: string;
  /** Null: the service was gone before it said that it has the job. */
  jobId: string | null;
}

test(`jobs outlive a service that is killed again and again (TEST_SEED=${seed})`, {
  timeout: 180_000,
}, async () => {
  console.log(`jobs.test.ts: TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  await using folder = await temporaryFolder();
  const start = (): ServiceProcess =>
    spawnService({ dataDir: folder.directory, environment: { LMSTUDIO_BASE_URL: double.baseUrl } });
  const left: LeftBehind[] = [];

  for (let life = 0; life < KILLS; life += 1) {
    await using service = start();
    await service.ready();
    const enough = Promise.withResolvers<void>();
    let awaited = 1 + Math.floor(random.float() * JOBS_PER_LIFE);
    const submitting = Array.from({ length: JOBS_PER_LIFE }, async (_, i) => {
      const kind = random.float() < 0.5 ? 'note' : 'question';
      const session_id = `conversation ${Math.floor(random.float() * CONVERSATIONS)}`;
      const job: LeftBehind = { message: `${kind} ${life}.${i}`, session_id, jobId: null };
      left.push(job);
      await after(random.float() * SUBMITTED_WITHIN_MS);
      job.jobId = await submitJob(service, job.message, { session_id }).catch(() => null);
      awaited -= 1;
      if (awaited === 0) enough.resolve();
    });
    await enough.promise;
    await after(random.float() * KILLED_WITHIN_MS);
    await service.kill();
    await Promise.all(submitting);
  }

  await using service = start();
  await service.ready();
  const accepted = left.filter(({ jobId }) => jobId !== null);
  const fates = { done: 0, failed: 0 };
  for (const { jobId, message } of accepted) {
    const { status, response, error } = await jobWhen(service, jobId as string);
    fates[status as keyof typeof fates] += 1;
    if (status === 'done') expect(response, message).toBe(ANSWER);
    else expect(error, message).not.toBe('');
  }
  console.log(`jobs.test.ts: ${JSON.stringify({ ...fates, unheard: left.length - accepted.length })}`);
  expect(fates.done).toBeGreaterThan(0);

  // Those too that were accepted unheard.
  for (const { job_id } of await listJobs(service)) await jobWhen(service, job_id);
  const asked = await questionsOf(service, new Set(left.map(({ session_id }) => session_id)));
  for (const { jobId, message } of left) {
    const times = asked.filter((content) => content === message).length;
    if (jobId === null) expect(times, message).toBeLessThanOrEqual(1);
    else expect(times, message).toBe(1);
  }
});

/** What users said in these conversations. */
async function questionsOf(
  service: ServiceProcess,
  conversations: ReadonlySet<string>,
): Promise<readonly string[]> {
  const questions: string[] = [];
  for (const id of conversations) {
    // One in which no job was accepted is not there.
    const rows = await service.messages(id).catch(() => []);
    questions.push(...rows.filter(({ role }) => role === 'user').map(({ content }) => content));
  }
  return questions;
}

/** The moments of the kills are what is tested: these waits are for time itself. */
function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
