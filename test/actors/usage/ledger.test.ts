// The ledger: what is entered, once; what a report says of it; what becomes of it with time.

import { describe, expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import {
  type TurnKey,
  type TurnUsage,
  USAGE_SOURCES,
  type UsageReport,
  usage,
} from '../../../src/actors/usage/protocol.ts';
import { openUsageStore } from '../../../src/actors/usage/store.ts';
import { damaged } from '../../../src/storage/faults.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { type EdgeActors, type EdgeOptions, openEdgeActors } from '../../support/edge-actors.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { storageOfThisTest } from '../../support/storage.ts';
import { tampered } from '../../support/tampered-storage.ts';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;

const turn = (turn_id: string, used: Partial<TurnKey & TurnUsage> = {}): TurnKey & TurnUsage => ({
  turn_id,
  source: 'chat',
  model: 'small',
  agent_id: null,
  inputTokens: 100,
  outputTokens: 10,
  costUsd: 0.5,
  latencyMs: 1_000,
  ...used,
});
const record = (actors: EdgeActors, entry: TurnKey & TurnUsage): Promise<void> =>
  actors.ask(usage, 'record', entry);
const report = (actors: EdgeActors, days?: number): Promise<UsageReport> =>
  actors.ask(usage, 'report', days === undefined ? {} : { days });
/** The date and the turns of the days that have any. */
const turnsByDate = ({ daily }: UsageReport): readonly (readonly [string, number])[] =>
  daily.filter(({ turns }) => turns > 0).map(({ date, turns }) => [date, turns]);

describe('a turn', () => {
  test('is entered once, however often and however differently it is told, over a restart too', async () => {
    const actors = await openEdgeActors();
    await Promise.all(Array.from({ length: 20 }, () => record(actors, turn('a'))));
    const first = await report(actors);
    expect(first.totals).toMatchObject({ turns: 1, tokens_total: 110, cost_total: 0.5 });
    const restarted = await actors.reopen();
    await record(restarted, turn('a', { model: 'large', inputTokens: 9_999, costUsd: null }));
    expect(await report(restarted)).toEqual(first);
  });

  test('is told apart by its source', async () => {
    const actors = await openEdgeActors();
    for (const source of USAGE_SOURCES) await record(actors, turn('a', { source }));
    const { totals, by_source } = await report(actors);
    expect(totals.turns).toBe(USAGE_SOURCES.length);
    expect(by_source.map(({ source }) => source)).toEqual([...USAGE_SOURCES].sort());
  });

  test('of no agent is grouped under _default', async () => {
    const actors = await openEdgeActors();
    await record(actors, turn('a'));
    await record(actors, turn('b', { agent_id: 'scout' }));
    expect((await report(actors)).by_agent.map(({ agent_id }) => agent_id)).toEqual(['_default', 'scout']);
  });

  test('counts on the day, in UTC, on which it was entered', async () => {
    const clock = new ManualClock({ nowMs: Date.UTC(2026, 1, 27, 23, 59) });
    const actors = await openEdgeActors({ clock });
    await record(actors, turn('a'));
    expect(turnsByDate(await report(actors))).toEqual([['2026-02-27', 1]]);
    await clock.advance(60_000);
    await record(actors, turn('b'));
    const both = [
      ['2026-02-27', 1],
      ['2026-02-28', 1],
    ];
    expect(turnsByDate(await report(actors))).toEqual(both);
    expect(turnsByDate(await report(actors, 1))).toEqual([['2026-02-28', 1]]);
  });

  test('that comes to a day that was over, because the clock was put back, is counted too', async () => {
    const clock = new JumpingClock();
    const actors = await openEdgeActors({ clock });
    await record(actors, turn('a'));
    clock.jump(DAY_MS);
    expect((await report(actors)).totals.turns).toBe(1);
    clock.jump(-DAY_MS);
    await record(actors, turn('b'));
    clock.jump(DAY_MS);
    expect((await report(actors)).totals.turns).toBe(2);
  });

  test('with a name that is none, or too long, is entered all the same', async () => {
    const actors = await openEdgeActors();
    await record(actors, turn('a', { model: 'm'.repeat(10_000) }));
    await record(actors, turn('b', { model: '\ud800' }));
    expect((await report(actors)).by_model.map(({ model }) => model)).toEqual(['m'.repeat(200), '\ufffd']);
  });
});

test('more models than a day has room for are summed up as others', async () => {
  const actors = await openEdgeActors();
  const names = Array.from({ length: 230 }, (_, i) => `model-${i}`);
  await Promise.all(names.map((model) => record(actors, turn(model, { model }))));
  await record(actors, turn('again', { model: 'model-0' }));
  const { by_model, totals } = await report(actors);
  expect(totals.turns).toBe(231);
  expect(by_model).toHaveLength(201);
  expect(by_model.find(({ model }) => model === '_other')?.turns).toBe(30);
  expect(by_model.find(({ model }) => model === 'model-0')?.turns).toBe(2);
});

describe('a ledger that cannot be read', () => {
  test('answers zeros and says so; what is readable again is there again', async () => {
    let isOffline = false;
    const storage: EdgeOptions['storage'] = tampered({
      read(table) {
        if (isOffline && table.startsWith('usage')) throw damaged('/data', new Error('gone'));
      },
    });
    const actors = await openEdgeActors({ storage });
    await record(actors, turn('a'));
    isOffline = true;
    expect(await report(actors, 1)).toEqual({
      totals: {
        turns: 0,
        tokens_input: 0,
        tokens_output: 0,
        tokens_total: 0,
        cost_total: 0,
        turns_unpriced: 0,
        cost_currency: 'USD',
        avg_latency_ms: 0,
      },
      by_model: [],
      by_agent: [],
      by_source: [],
      daily: [{ date: expect.any(String), turns: 0, tokens_total: 0, cost_total: 0 }],
      days: 1,
      unavailable: true,
    });
    isOffline = false;
    expect(await report(actors, 1)).toMatchObject({ totals: { turns: 1 } });
  });
});

describe('with time', () => {
  test('the marks of turns are forgotten, the sums of days only when no report asks for them', async () => {
    const { storage } = await storageOfThisTest();
    const store = openUsageStore(storage);
    const today = 20_000;
    for (const day of [today - 92, today - 91, today - 3, today - 2, today]) {
      for (const id of ['a', 'b', 'c']) await store.enter(turn(`${id}${day}`), day);
    }
    let sweeps = 1;
    while (await store.sweep(today, 2)) sweeps += 1;
    expect(sweeps).toBeGreaterThan(1);
    const kept = [today - 92, today - 91, today - 3, today].map((day) => store.usageOn(day, today));
    expect(kept.map((used) => used?.total.turns)).toEqual([undefined, 3, 3, 3]);
    expect(kept.map((used) => used?.shares.model.size)).toEqual([undefined, 1, 1, 1]);
    await store.enter(turn(`a${today - 2}`), today);
    expect(store.usageOn(today, today)?.total.turns).toBe(3);
    await store.enter(turn(`a${today - 3}`), today);
    expect(store.usageOn(today, today)?.total.turns).toBe(4);
  });

  test('the actor does that in the background, and not before what a crash has left was entered', async () => {
    const clock = new ManualClock();
    const actors = await openEdgeActors({ clock });
    await record(actors, turn('a'));
    const later = new ManualClock({ nowMs: clock.nowMs() + 80 * DAY_MS });
    const restarted = await actors.reopen({ clock: later });
    await record(restarted, turn('a'));
    expect((await report(restarted, 90)).totals.turns).toBe(1);
    await later.advance(HOUR_MS);
    await restarted.storage.flushed();
    await record(restarted, turn('a'));
    expect((await report(restarted, 90)).totals.turns).toBe(2);
  });
});

describe('leave for a call', () => {
  const admit = (actors: EdgeActors, turn_id: string, spentUsd: number): Promise<void> =>
    actors.ask(usage, 'admit', { turn_id, source: 'chat', spentUsd, expectedUsd: 0.25 });
  const setBudget = (actors: EdgeActors, dailyUsd: number | null) =>
    actors.ask(config, 'assign', { 'budgets.daily_usd': dailyUsd });
  const exceeded = { code: 'budget_exceeded', kind: 'unprocessable', retryable: false };

  test('is given where there is no budget, and follows the setting at once', async () => {
    const actors = await openEdgeActors();
    await record(actors, turn('a', { costUsd: 1e6 }));
    await admit(actors, 'b', 1e6);
    await setBudget(actors, 1);
    await expect(admit(actors, 'b', 0)).rejects.toMatchObject(exceeded);
    await setBudget(actors, null);
    await admit(actors, 'b', 0);
  });

  test('is refused when what is entered of today leaves no room, and given again on the next day', async () => {
    const clock = new ManualClock({ nowMs: Date.UTC(2026, 1, 28, 23, 59, 59) });
    const actors = await openEdgeActors({ clock });
    await setBudget(actors, 1);
    await record(actors, turn('a', { costUsd: 0.875 }));
    await expect(admit(actors, 'b', 0)).rejects.toMatchObject(exceeded);
    await clock.advance(1_000);
    await admit(actors, 'b', 0);
  });

  test('comes back when a turn is entered or given up: it counts in the ledger, or nowhere', async () => {
    const actors = await openEdgeActors();
    await setBudget(actors, 0.5);
    await admit(actors, 'a', 0);
    await admit(actors, 'b', 0);
    await expect(admit(actors, 'c', 0)).rejects.toMatchObject(exceeded);
    await record(actors, turn('a', { costUsd: null }));
    await admit(actors, 'c', 0);
    await expect(admit(actors, 'd', 0)).rejects.toMatchObject(exceeded);
    actors.tell(usage, 'discard', { turn_id: 'b', source: 'chat' });
    await admit(actors, 'd', 0);
  });

  test('remembers over a restart what was entered', async () => {
    const actors = await openEdgeActors();
    await setBudget(actors, 1);
    await record(actors, turn('a', { costUsd: 1 }));
    const restarted = await actors.reopen();
    await expect(admit(restarted, 'b', 0)).rejects.toMatchObject(exceeded);
  });
});
