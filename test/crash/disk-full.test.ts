// The disk fills up while runs are live. Newcomers hear it, those that run wait with their readers, and everything goes on
// when there is room again, without a restart.

import { beforeAll, expect, test } from 'vitest';
import { jobWhen, submitJob } from '../support/jobs.ts';
import {
  type ProviderDoubleProcess,
  startProviderDoubleProcess,
} from '../support/provider-double-process.ts';
import { numberingFlaws, orderOf, textOf } from '../support/run-events.ts';
import { canMountDisk, startService } from '../support/service-process.ts';
import { temporaryFolder } from '../support/storage.ts';
import { DOUBLE_MODEL } from '../support/troupe.ts';

const RUNS = 20;
const DISK_MEGABYTES = 48;
const REFUSAL = /503:? {"error":"the disk that holds .+ is full"}$/;
const PATIENCE = { timeout: 20_000, interval: 50 } as const;

const WORDS = Array.from({ length: 60 }, (_, i) => `word${i} `);
const ANSWER = WORDS.join('');

let double: ProviderDoubleProcess;
beforeAll(async () => {
  double = await startProviderDoubleProcess({ script: { text: WORDS, chunkDelayMs: 100 } });
  return () => double.stop();
});

test.skipIf(!canMountDisk())(
  'a disk that is full for a while costs no run, no event and no answer',
  { timeout: 180_000 },
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({
      dataDir: folder.directory,
      diskMegabytes: DISK_MEGABYTES,
      environment: { LMSTUDIO_BASE_URL: double.baseUrl },
      defaults: { model: DOUBLE_MODEL },
    });
    const started = await Promise.all(
      Array.from({ length: RUNS }, async (_, i) => {
        const run = await service.start(`question ${i}`, { session_id: `session ${i}` });
        await run.reader.until('chunk');
        return run;
      }),
    );
    const jobId = await submitJob(service, 'Left behind', { session_id: 'left behind' });
    await jobWhen(service, jobId, 'running');
    const read = Promise.all(started.map(({ reader }) => reader.rest()));
    // Awaited at the end; what fails before tells more than that it was cut.
    read.catch(() => undefined);

    await service.fillDisk();
    const lateJobs = await untilRefused(() => submitJob(service, 'Late'));
    const lateRuns = await untilRefused(() => service.start('Late'));
    // The models have said all that they have to say, and nobody could write it down.
    await expect.poll(async () => (await double.stats()).openCount, { ...PATIENCE, timeout: 60_000 }).toBe(0);
    const listed = await service.call('GET', '/api/agent/chat/runs');
    expect(listed.status).toBe(200);
    const statuses = listed.body.runs.map(({ status }: { readonly status: string }) => status);
    expect(statuses).toContain('running');
    expect(statuses).not.toContain('failed');

    await service.freeDisk();
    for (const [i, [, ...events]] of (await read).entries()) {
      expect(numberingFlaws(events)).toEqual([]);
      expect(textOf(events)).toBe(ANSWER);
      expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
      expect(await service.listed(started[i]?.runId ?? '')).toMatchObject({ status: 'done' });
      expect(await (await service.attach(started[i]?.runId ?? '')).rest()).toEqual(events);
      expect((await service.messages(`session ${i}`)).map(({ content }) => content.trim())).toEqual([
        `question ${i}`,
        ANSWER.trim(),
      ]);
    }
    for (const id of [jobId, ...lateJobs]) {
      expect(await jobWhen(service, id)).toMatchObject({ status: 'done', response: ANSWER.trim() });
    }
    for (const { reader } of lateRuns) expect(textOf(await reader.rest())).toBe(ANSWER);
    expect(textOf((await service.turn('And now?')).events)).toBe(ANSWER);
    // The engine prints what it could not write, in a way that may end the process: it must not come to that.
    expect(service.stderr).toBe('');
  },
);

/** Asks until it is refused for want of room; answers what was accepted before, while there was still a little. */
async function untilRefused<T>(ask: () => Promise<T>): Promise<readonly T[]> {
  const accepted: T[] = [];
  for (;;) {
    try {
      accepted.push(await ask());
    } catch (error) {
      expect((error as Error).message).toMatch(REFUSAL);
      return accepted;
    }
  }
}
