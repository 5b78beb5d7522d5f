// A run host that is killed under background jobs: they end too, and those that wait are carried by its successor.

import { expect, test } from 'vitest';
import { jobWhen, submitJob } from '../../support/jobs.ts';
import { openTroupe } from '../../support/troupe.ts';

test('jobs on a lost host end, each once in its conversation, and the ones behind them run', async () => {
  await using app = await openTroupe({
    service: { runHosts: 1 },
    script: { text: ['Half ', 'an answer.'], fault: { kind: 'stall', afterChunks: 1 } },
  });
  const ids = [];
  for (let i = 0; i < 6; i += 1) {
    ids.push(await submitJob(app, `question ${i}`, { session_id: `conversation ${i}` }));
  }
  for (const id of ids.slice(0, 4)) await jobWhen(app, id, 'running');
  await app.double.received(3);
  app.double.answer({ text: 'A whole answer.' });
  const host = app.troupe.system.threads().find(({ name }) => name === 'run-1');
  await app.troupe.system.terminateThread(host?.thread as number);

  for (const [i, id] of ids.entries()) {
    const job = await jobWhen(app, id);
    const rows = await app.messages(`conversation ${i}`);
    expect(rows.filter(({ role }) => role === 'user')).toMatchObject([{ content: `question ${i}` }]);
    if (job.status === 'done') expect(job.response).toBe('A whole answer.');
    else expect(job.error).toMatch(/run host run-1 was lost/);
    // Nobody had begun to answer these.
    if (i >= 4) expect(job.status).toBe('done');
  }
});
