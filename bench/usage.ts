// Usage: what the ledger costs after 90 days of 100,000 turns a day (ADR 15). `npm run bench -- usage [--quick]`
//
// The last two days, whose turns are still marked, are entered turn by turn. Of the days before only the sums are left; they
// are made by as many turns as it takes for each name to have been used, since how many turns a sum holds changes nothing.
// The service is a process of its own; entering and asking for leave are measured on the actor, without HTTP.

import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { configActor } from '../src/actors/config/actor.ts';
import { config } from '../src/actors/config/protocol.ts';
import { usageActor } from '../src/actors/usage/actor.ts';
import { dayOf } from '../src/actors/usage/day.ts';
import { type TurnKey, type TurnUsage, USAGE_SOURCES, usage } from '../src/actors/usage/protocol.ts';
import { openUsageStore } from '../src/actors/usage/store.ts';
import { openStorage } from '../src/storage/storage.ts';
import { child } from '../src/supervisor/children.ts';
import { type ActorSystem, createActorSystem } from '../src/supervisor/system.ts';
import { type BenchReport, type Figure, figure, quantile } from './report.ts';
import { startService } from './service.ts';

const DAYS = 90;
const DAYS_MARKED = 2;
const TARGET_MS = 20;
const ENTERED_AT_ONCE = 500;
const ROUNDS = 5;

interface Size {
  readonly models: number;
  readonly agents: number;
  readonly turnsADay: number;
  readonly requests: number;
}
const USUAL: Size = { models: 20, agents: 50, turnsADay: 100_000, requests: 2_000 };
const QUICK: Size = { ...USUAL, turnsADay: 2_000, requests: 200 };
/** As many names as a day may have. */
const widest = (size: Size): Size => ({ ...size, models: 200, agents: 200, turnsADay: 1_000 });

export async function benchUsage(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: 'boolean', default: false } },
  });
  const size = values.quick ? QUICK : USUAL;
  const loadBefore = loadavg()[0]?.toFixed(1);
  const figures = [
    ...(await measure('usual', size, true)),
    ...(await measure('200 models and 200 agents a day', widest(size), false)),
  ];
  return {
    figures,
    conditions: [
      `${DAYS} days, the last ${DAYS_MARKED} with ${size.turnsADay} marked turns each; usual: ${size.models} models, ${size.agents} agents, ${USAGE_SOURCES.length} sources on every day.`,
      `Reports of ${DAYS} days over HTTP, one after the other, ${size.requests} in each round of ${ROUNDS}. A route that does nothing tells what the machine adds. Load of it (1 minute): ${loadBefore} before, ${loadavg()[0]?.toFixed(1)} after.`,
    ],
    notMeasured: [
      'a network',
      'reports while other work keeps the edge thread busy',
      'stores larger than memory',
    ],
    isKept: !values.quick,
  };
}

async function measure(by: string, size: Size, withActor: boolean): Promise<readonly Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-usage-'));
  try {
    console.error(`Filling ${DAYS} days (${by}) …`);
    await fill(directory, size);
    const figures = withActor ? await measureActor(directory, size) : [];
    console.error(`Measuring reports (${by}) …`);
    return [...(await measureReports(directory, by, size)), ...figures];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function fill(directory: string, size: Size): Promise<void> {
  const storage = await openStorage({ directory, primary: true });
  const store = openUsageStore(storage);
  const today = dayOf(Date.now());
  for (let day = today - DAYS + 1; day <= today; day += 1) {
    const isMarked = day > today - DAYS_MARKED;
    const turns = isMarked ? size.turnsADay : Math.max(size.models, size.agents, USAGE_SOURCES.length);
    await inPortions(turns, (i) => store.enter(turnOf(`${day}-${i}`, i, size), day));
  }
  await storage.close();
}

/** The names take turns, so that each is used. */
function turnOf(turn_id: string, i: number, { models, agents }: Size): TurnKey & TurnUsage {
  return {
    turn_id,
    source: USAGE_SOURCES[i % USAGE_SOURCES.length] ?? 'chat',
    model: `vendor/model-${i % models}`,
    agent_id: `agent-${i % agents}`,
    inputTokens: 2_000 + i,
    outputTokens: 300,
    costUsd: i % 10 === 0 ? null : 0.0123,
    latencyMs: 4_000,
  };
}

async function measureReports(directory: string, by: string, size: Size): Promise<readonly Figure[]> {
  const first: number[] = [];
  const cpu: number[] = [];
  const floor: number[] = [];
  const p50: number[] = [];
  const p99: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startService({ SVC_DATA_DIR: directory });
    const url = new URL(`/api/metrics/usage?days=${DAYS}`, service.url);
    try {
      // Whatever a first request costs besides is paid by another one.
      await timed(new URL('/api/metrics/usage?days=1', service.url));
      first.push(await timed(url));
      const before = await service.cpuSeconds();
      const times = await timesOf(url, size.requests);
      cpu.push(((await service.cpuSeconds()) - before) * (1_000 / size.requests));
      floor.push(quantile(await timesOf(new URL('/api/version', service.url), size.requests), 0.99));
      p50.push(quantile(times, 0.5));
      p99.push(quantile(times, 0.99));
    } finally {
      await service.stop();
    }
  }
  return [
    figure('report p50', 'ms', p50, { by }),
    figure('report p99', 'ms', p99, { by, target: TARGET_MS }),
    figure('p99 of a route that does nothing', 'ms', floor, { by }),
    figure('processor time of a report, all threads', 'ms', cpu, { by }),
    figure('first report after a start', 'ms', first, { by }),
  ];
}

/** Ascending. */
async function timesOf(url: URL, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) times.push(await timed(url));
  return times.sort((a, b) => a - b);
}

async function timed(url: URL): Promise<number> {
  const startedMs = performance.now();
  const response = await fetch(url);
  const report = (await response.json()) as { readonly unavailable?: true };
  if (response.status !== 200 || report.unavailable) throw new Error(`no report: ${response.status}`);
  return performance.now() - startedMs;
}

async function measureActor(directory: string, size: Size): Promise<readonly Figure[]> {
  const storage = await openStorage({ directory, primary: true });
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    children: [
      child(
        configActor,
        { environment: {}, keyFile: join(directory, 'settings.key'), operator: {} },
        { id: 'config', name: true },
      ),
      child(usageActor, undefined, { id: 'usage', name: true }),
    ],
  });
  try {
    console.error('Measuring the actor …');
    return [...(await measureEntering(system, size)), ...(await measureLeave(system))];
  } finally {
    await system.stop();
    await storage.close();
  }
}

async function measureEntering(system: ActorSystem, size: Size): Promise<readonly Figure[]> {
  const ledger = system.named(usage);
  const enter = (i: number, id: string): Promise<void> => ledger.ask('record', turnOf(id, i, size));
  const single: number[] = [];
  const rates: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times: number[] = [];
    for (let i = 0; i < 200; i += 1) {
      const startedMs = performance.now();
      await enter(i, `single-${round}-${i}`);
      times.push(performance.now() - startedMs);
    }
    single.push(
      quantile(
        times.sort((a, b) => a - b),
        0.5,
      ),
    );
    const startedMs = performance.now();
    const before = process.cpuUsage();
    const COUNT = 10_000;
    await inPortions(COUNT, (i) => enter(i, `many-${round}-${i}`));
    rates.push((COUNT * 1_000) / (performance.now() - startedMs));
    const { user, system: kernel } = process.cpuUsage(before);
    cpu.push((user + kernel) / COUNT);
  }
  return [
    figure('entering a turn, one at a time, p50', 'ms', single),
    figure(`entering turns, ${ENTERED_AT_ONCE} at once`, '/s', rates, { moreIsBetter: true }),
    figure('processor time of entering one of them, all threads', 'µs', cpu),
  ];
}

async function measureLeave(system: ActorSystem): Promise<readonly Figure[]> {
  const ledger = system.named(usage);
  const COUNT = 10_000;
  const rate = async (round: number): Promise<number> => {
    const startedMs = performance.now();
    await inPortions(COUNT, (i) =>
      ledger.ask('admit', { turn_id: `${round}-${i}`, source: 'chat', spentUsd: 0, expectedUsd: 0.01 }),
    );
    return (COUNT * 1_000) / (performance.now() - startedMs);
  };
  const measured = async (): Promise<number[]> => {
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rates.push(await rate(round));
    return rates;
  };
  const without = await measured();
  await system.named(config).ask('assign', { 'budgets.daily_usd': 1_000_000 });
  return [
    figure('leave for a call, no budget', '/s', without, { moreIsBetter: true }),
    figure('leave for a call, a budget and 50,000 turns under way', '/s', await measured(), {
      moreIsBetter: true,
    }),
  ];
}

async function inPortions(count: number, work: (i: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += ENTERED_AT_ONCE) {
    const portion = Math.min(ENTERED_AT_ONCE, count - from);
    await Promise.all(Array.from({ length: portion }, (_, i) => work(from + i)));
  }
}
