// Budgets in live turns: where they stop, what is kept, who hears what.

import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../../src/actors/config/settings.ts';
import type { CompletionRequest } from '../../../src/actors/providers/protocol.ts';
import { TurnBudget } from '../../../src/actors/runs/turn-budget.ts';
import type { TurnScope } from '../../../src/actors/runs/turn-scope.ts';
import { eventually } from '../../support/eventually.ts';
import { jobWhen, submitJob } from '../../support/jobs.ts';
import type { Reply } from '../../support/provider-double-script.ts';
import { orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import { DOUBLE_MODEL, openTroupe, type TestTroupe } from '../../support/troupe.ts';

const note = (cost: number): Reply => ({
  text: 'I note it.',
  toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'it' } }],
  usage: { prompt_tokens: 100, completion_tokens: 10, cost },
});
const SILENT: Reply = { fault: { kind: 'silence' } };
const budgets = (app: TestTroupe, set: Readonly<Record<string, number | null>>): Promise<void> =>
  app.configure({ budgets: set });
const spentUsd = async (app: TestTroupe): Promise<number> =>
  (await app.call('GET', '/api/metrics/usage')).body.totals.cost_total;

describe('the budget of a run', () => {
  test('stops it before the call that would pass it; what it wrote is kept', async () => {
    await using app = await openTroupe({ script: note(0.4) });
    await budgets(app, { per_run_usd: 1 });
    const { events, sessionId } = await app.turn('Note');
    expect(app.double.requestCount).toBe(3);
    expect(orderOf(events).slice(-2)).toEqual(['error', 'close']);
    expect(payloadOf(events, 'error')).toEqual({
      error: 'The budget of one turn, $1.00, is used up',
      code: 'budget_exceeded',
    });
    expect(textOf(events)).toBe('I note it.'.repeat(3));
    expect((await app.messages(sessionId)).at(-1)).toMatchObject({
      role: 'assistant',
      content: 'I note it.\n\nI note it.\n\nI note it.',
      metadata: { interrupted: true },
    });
    await eventually(() => spentUsd(app)).toBe(1.2);
    const { events: next } = await app.turn('Again');
    expect(payloadOf(next, 'error').code).toBe('budget_exceeded');
    expect(app.double.requestCount).toBe(6);
  });

  test('that is set while it is under way holds for its next call', async () => {
    await using app = await openTroupe({
      script: [{ ...note(2), fault: { kind: 'stall', afterChunks: 1 } }, { text: 'Never asked.' }],
    });
    const { reader } = await app.start('Note');
    await reader.until('chunk');
    await budgets(app, { per_run_usd: 1 });
    app.double.release();
    expect(payloadOf(await reader.rest(), 'error').code).toBe('budget_exceeded');
    expect(app.double.requestCount).toBe(1);
  });

  test('counts what it spent before it was resumed', async () => {
    await using app = await openTroupe({ script: [note(2), SILENT, { text: 'Never asked.' }] });
    const { runId } = await app.start('Note');
    await app.double.received(1);
    await budgets(app, { per_run_usd: 1 });
    await app.restart();
    const events = await (await app.attach(runId)).rest();
    expect(orderOf(events)).toContain('status(resumed)');
    expect(payloadOf(events, 'error').code).toBe('budget_exceeded');
    expect(app.double.requestCount).toBe(2);
  });
});

describe('the budget of a day', () => {
  test('refuses blocking chats with 422 and jobs with the reason, and nobody once it is raised', async () => {
    await using app = await openTroupe({
      script: { text: 'Hello.', usage: { prompt_tokens: 100, completion_tokens: 10, cost: 1 } },
    });
    await budgets(app, { daily_usd: 1 });
    const chat = () => app.call('POST', '/api/agent/chat', { message: 'Hello', model: DOUBLE_MODEL });
    expect((await chat()).status).toBe(200);
    const error = 'The budget of the day, $1.00, is used up';
    expect(await chat()).toMatchObject({ status: 422, body: { error } });
    const jobId = await submitJob(app, 'Hello');
    expect(await jobWhen(app, jobId, 'failed')).toMatchObject({ error });
    expect(app.double.requestCount).toBe(1);
    const health = await app.call('GET', '/api/providers/health');
    expect(JSON.stringify(health.body)).not.toMatch(/budget/);
    await budgets(app, { daily_usd: 2 });
    expect((await chat()).status).toBe(200);
    await budgets(app, { daily_usd: null });
    expect((await chat()).status).toBe(200);
  });

  test('is not passed by 200 turns at once that cost what was expected of them', {
    timeout: 60_000,
  }, async () => {
    const TURNS = 200;
    const AFFORDABLE = 10;
    await using app = await openTroupe({
      // A thousand tokens of output, which is what a call reserves, are a dollar.
      models: { list: [{ id: 'double-1', pricing: { prompt: '0', completion: '0.001' } }] },
      script: { text: 'Hello.', usage: { prompt_tokens: 100, completion_tokens: 1_000 } },
    });
    await budgets(app, { daily_usd: AFFORDABLE });
    const turns = await Promise.all(Array.from({ length: TURNS }, () => app.turn('Hello')));
    const ends = turns.map(({ events }) => orderOf(events).at(-2));
    expect(ends.filter((end) => end === 'done')).toHaveLength(AFFORDABLE);
    const refused = turns.filter((_, i) => ends[i] !== 'done');
    expect(new Set(refused.map(({ events }) => payloadOf(events, 'error').code))).toEqual(
      new Set(['budget_exceeded']),
    );
    expect(app.double.requestCount).toBe(AFFORDABLE);
    await eventually(() => spentUsd(app)).toBe(AFFORDABLE);
  });
});

describe('a turn without budgets', () => {
  const request = { price: { inputPer1k: 1, outputPer1k: 2 }, maxOutputTokens: 500 } as CompletionRequest;
  const asked = async (settings: typeof defaultSettings, calls: number): Promise<readonly unknown[]> => {
    const questions: unknown[] = [];
    const scope = {
      context: {
        ask: async (_: unknown, __: string, call: unknown) => void questions.push(call),
        clock: { monotonicMs: () => 0 },
      },
      order: { run_id: 'r1' },
      usage: { costUsd: 0.5 },
    } as unknown as TurnScope;
    const budget = new TurnBudget(settings);
    for (let i = 0; i < calls; i += 1) await budget.admit(scope, request, 2_000);
    return questions;
  };

  test('asks nobody for its first call, and for the later ones whether there is one by now', async () => {
    expect(await asked(defaultSettings, 1)).toEqual([]);
    expect(await asked(defaultSettings, 3)).toHaveLength(2);
  });

  test('and one with asks for each, with what it has spent and what the call may cost', async () => {
    const call = { turn_id: 'r1', source: 'chat', spentUsd: 0.5, expectedUsd: 3 };
    expect(await asked({ ...defaultSettings, 'budgets.per_run_usd': 1 }, 2)).toEqual([call, call]);
  });
});
