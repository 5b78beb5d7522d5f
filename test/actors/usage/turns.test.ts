// Which turns are in the ledger, and with what: whatever became of their runs, each is in it once.

import { describe, expect, test } from 'vitest';
import { type UsageReport, usage } from '../../../src/actors/usage/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { jobWhen, submitJob } from '../../support/jobs.ts';
import type { Reply } from '../../support/provider-double-script.ts';
import { payloadOf } from '../../support/run-events.ts';
import { openRunsSystem } from '../../support/runs-system.ts';
import { spawnService } from '../../support/service-process.ts';
import { folderOfThisTest } from '../../support/storage.ts';
import { fillableDisk, tampered } from '../../support/tampered-storage.ts';
import { DOUBLE_MODEL, openTroupe, type ServiceClient, type TestTroupe } from '../../support/troupe.ts';

const used = (prompt_tokens: number, completion_tokens: number, cost?: number) => ({
  prompt_tokens,
  completion_tokens,
  ...(cost === undefined ? {} : { cost }),
});
const note: Reply = {
  text: 'I note it.',
  toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'it' } }],
  usage: used(100, 10, 0.25),
};
const SILENT: Reply = { fault: { kind: 'silence' } };

const reported = async (app: ServiceClient): Promise<UsageReport> =>
  (await app.call('GET', '/api/metrics/usage')).body;
const counted = async (app: ServiceClient): Promise<number> => (await reported(app)).totals.turns;

async function loseHost({ troupe }: TestTroupe): Promise<void> {
  const host = troupe.system.threads().find(({ name }) => name === 'run-1');
  await troupe.system.terminateThread(host?.thread as number);
}
const open = (script: readonly Reply[]): Promise<TestTroupe> =>
  openTroupe({ script, service: { runHosts: 1 } });

describe('a turn that is done', () => {
  test('is reported as its done event said it, by model, agent, source and day', async () => {
    await using app = await openTroupe({ script: { text: 'Hello.', usage: used(120, 30, 0.5) } });
    const { events } = await app.turn('Hello');
    await eventually(() => counted(app)).toBe(1);
    const done = payloadOf(events, 'done');
    const counters = {
      turns: 1,
      tokens_input: done.tokens_input,
      tokens_output: done.tokens_output,
      tokens_total: 150,
      cost_total: done.cost_estimate,
      turns_unpriced: 0,
    };
    const report = await reported(app);
    expect(report).toEqual({
      totals: { ...counters, cost_currency: 'USD', avg_latency_ms: expect.any(Number) },
      by_model: [{ model: done.model, ...counters }],
      by_agent: [{ agent_id: '_default', ...counters }],
      by_source: [{ source: 'chat', ...counters }],
      daily: expect.any(Array),
      days: 14,
    });
    expect(report.totals.avg_latency_ms).toBeGreaterThanOrEqual(done.total_time_ms);
    expect(report.daily).toHaveLength(14);
    expect(report.daily.at(-1)).toMatchObject({ turns: 1, tokens_total: 150, cost_total: 0.5 });
    expect((await app.call('GET', '/api/metrics/usage?days=400')).body.days).toBe(90);
    expect((await app.call('GET', '/api/metrics/usage?days=soon')).status).toBe(400);
    await app.restart();
    expect(await reported(app)).toEqual(report);
  });

  test('without a known price has no cost rather than none', async () => {
    await using app = await openTroupe({ script: { text: 'Hello.', usage: used(120, 30) } });
    await app.call('POST', '/api/agent/chat', { message: 'Hello', model: DOUBLE_MODEL });
    expect((await reported(app)).totals).toMatchObject({ turns: 1, cost_total: 0, turns_unpriced: 1 });
  });

  test('in the background is a chat, once', async () => {
    await using app = await openTroupe({ script: { text: 'Hello.', usage: used(120, 30) } });
    const jobId = await submitJob(app, 'Hello');
    await jobWhen(app, jobId, 'done');
    expect((await reported(app)).by_source).toMatchObject([{ source: 'chat', turns: 1, tokens_total: 150 }]);
  });
});

describe('a turn that is not done', () => {
  test('counts with what it is known to have used: all calls before a cancel, and what was shown of the last', async () => {
    await using app = await openTroupe({
      script: [note, { text: ['One ', 'two '], fault: { kind: 'stall', afterChunks: 1 } }],
    });
    const { runId, reader } = await app.start('Count');
    await reader.until('chunk', ({ content }) => content.includes('One'));
    await app.cancel(runId);
    await reader.rest();
    await eventually(() => counted(app)).toBe(1);
    const { totals } = await reported(app);
    expect(totals).toMatchObject({ cost_total: 0.25, turns_unpriced: 0 });
    expect(totals.tokens_input).toBeGreaterThan(100);
    expect(totals.tokens_output).toBeGreaterThan(10);
  });

  test('counts when its provider fails behind the first call', async () => {
    const refused: Reply = { fault: { kind: 'status', status: 400, message: 'no' } };
    await using app = await openTroupe({ script: [note, refused] });
    payloadOf((await app.turn('Note')).events, 'error');
    await eventually(() => counted(app)).toBe(1);
    expect((await reported(app)).totals).toMatchObject({ tokens_total: 110, cost_total: 0.25 });
  });

  test('and whose model never answered is not in the ledger', async () => {
    await using app = await openTroupe({ script: { fault: { kind: 'status', status: 400, message: 'no' } } });
    const { status } = await app.call('POST', '/api/agent/chat', { message: 'Hello', model: DOUBLE_MODEL });
    expect(status).toBe(502);
    expect(await counted(app)).toBe(0);
  });
});

describe('a turn that is lost', () => {
  test('and resumed counts once, with what it used before and after', async () => {
    await using app = await open([note, SILENT, { text: 'Noted.', usage: used(200, 20, 0.5) }]);
    const { reader } = await app.start('Note');
    await app.double.received(1);
    await loseHost(app);
    payloadOf(await reader.rest(), 'done');
    await eventually(() => counted(app)).toBe(1);
    expect((await reported(app)).totals).toMatchObject({ turns: 1, tokens_total: 330, cost_total: 0.75 });
  });

  test('and settled counts with the calls before its last step', async () => {
    await using app = await open([
      note,
      { text: ['One ', 'two '], fault: { kind: 'stall', afterChunks: 1 } },
    ]);
    const { reader } = await app.start('Count');
    await reader.until('chunk', ({ content }) => content.includes('One'));
    await loseHost(app);
    payloadOf(await reader.rest(), 'error');
    await eventually(() => counted(app)).toBe(1);
    expect(await reported(app)).toMatchObject({
      totals: { tokens_total: 110, cost_total: 0.25, avg_latency_ms: 0 },
      by_model: [{ model: 'double-1' }],
    });
  });

  test('between the ledger and its record is entered again, which changes nothing', async () => {
    const disk = fillableDisk({ table: 'runs' });
    const app = await openRunsSystem({
      script: { text: 'Hello.', usage: used(120, 30) },
      storage: disk.storage,
    });
    const runId = await app.start({ message: 'Hello' });
    disk.isFull = true;
    await eventually(() => disk.refusals).toBeGreaterThan(1);
    expect(await app.status(runId)).toBe('running');
    const report = await app.system.named(usage).ask('report', {});
    expect(report.totals).toMatchObject({ turns: 1, tokens_total: 150 });
    disk.isFull = false;
    await eventually(() => app.status(runId)).toBe('done');
    expect(await app.system.named(usage).ask('report', {})).toEqual(report);
  });
});

test('a bug in the ledger costs no turn: it is entered once the ledger is back', async () => {
  let bugs = 1;
  const app = await openRunsSystem({
    script: { text: 'Hello.', usage: used(120, 30) },
    storage: tampered({
      put(table) {
        if (!table.startsWith('usage') || bugs === 0) return;
        bugs -= 1;
        throw new TypeError('a bug');
      },
    }),
  });
  const runId = await app.start({ message: 'Hello' });
  await eventually(() => app.status(runId)).toBe('done');
  expect(bugs).toBe(0);
  expect((await app.system.named(usage).ask('report', {})).totals.turns).toBe(1);
});

test('no turn whose end was seen is lost or doubled by kill -9', { timeout: 60_000 }, async () => {
  const TURNS = 12;
  await using double = await openTroupe({ script: { text: 'Hello.', usage: used(120, 30, 0.25) } });
  const service = () => spawnService({ dataDir, environment: { LMSTUDIO_BASE_URL: double.double.baseUrl } });
  const dataDir = await folderOfThisTest();
  {
    await using first = service();
    await first.ready();
    const readers = await Promise.all(
      Array.from({ length: TURNS }, () => first.chat('Hello', { model: DOUBLE_MODEL })),
    );
    await Promise.all(readers.map((reader) => reader.until('done')));
    await first.kill();
  }
  for (let life = 0; life < 2; life += 1) {
    await using next = service();
    await next.ready();
    expect((await reported(next)).totals).toMatchObject({
      turns: TURNS,
      tokens_total: 150 * TURNS,
      cost_total: 0.25 * TURNS,
    });
    await next.kill();
  }
});
