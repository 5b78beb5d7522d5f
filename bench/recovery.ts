// Recovery: how long a start takes that finds ten thousand unfinished runs, by what had become of them. Each folder is made
// anew; the service is a process of its own, and its start without any run is measured beside it.
//
// `npm run bench -- recovery [--runs 10000] [--rounds 3]`

import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { JournaledEvent, RunEvents } from '../src/actors/runs/events.ts';
import type { RunStep } from '../src/actors/runs/steps.ts';
import { openRunStore, type RunRecord, type RunStore } from '../src/actors/runs/store.ts';
import type { Storage } from '../src/storage/contract.ts';
import { openStorage } from '../src/storage/storage.ts';
import { startProviderDoubleProcess } from '../test/support/provider-double-process.ts';
import { type BenchReport, type Figure, figure } from './report.ts';
import { type BenchService, startService } from './service.ts';

const RUNS = 10_000;
const ROUNDS = 3;
const MODEL = 'lmstudio:double-1';
const TARGET_MS = 5_000;
const WRITTEN_AT_ONCE = 250;
const POLL_MS = 50;
/** Longer than that it is stuck. */
const UNDER_WAY_MS_MAX = 120_000;
const CHUNKS = 40;
/** What one commit of a run that streams holds. */
const EVENTS_PER_APPEND = 10;

interface Lot {
  readonly what: string;
  /** Whether it is resumed, and with that calls the model. */
  readonly isResumed: boolean;
  readonly events: (runId: string) => readonly JournaledEvent[];
  readonly step: boolean;
}

export async function benchRecovery(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: String(RUNS) },
      rounds: { type: 'string', default: String(ROUNDS) },
    },
  });
  const runs = Number(values.runs);
  const rounds = Number(values.rounds);
  const loadBefore = load();
  const figures: Figure[] = [];
  const empty: number[] = [];
  const emptyCpu: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { readyMs, cpuSeconds } = await measure(0, []);
    empty.push(readyMs);
    emptyCpu.push(cpuSeconds);
  }
  figures.push(figure('start without a run', 'ms', empty));
  figures.push(figure('… processor time of it', 's', emptyCpu));
  for (const [what, lots] of MIXES) {
    const ready: number[] = [];
    const cpu: number[] = [];
    const underWay: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { readyMs, cpuSeconds, underWayMs } = await measure(runs, lots);
      ready.push(readyMs);
      cpu.push(cpuSeconds);
      if (underWayMs !== null) underWay.push(underWayMs);
    }
    figures.push(figure(`start with ${runs} runs, ${what}`, 'ms', ready, { target: TARGET_MS }));
    figures.push(figure(`… processor time of it, ${what}`, 's', cpu));
    if (underWay.length > 0) {
      figures.push(figure(`… until all that go on call their model, ${what}`, 'ms', underWay));
    }
  }
  return {
    figures,
    conditions: [
      'From the start of the process to its first answer: every run is settled, or admitted again, by then.',
      'What settling takes: a third is the collection of what waits for its commit, a fifth the deciding of commits, with the texts of the rows filed for search.',
      `Load of the machine (1, 5, 15 minutes): ${loadBefore} before, ${load()} after.`,
    ],
    notMeasured: ['long journals, long tool results', 'a cold disk: the folder was written just before'],
    isKept: runs >= RUNS,
  };
}

interface Start {
  readonly readyMs: number;
  /** Used by then. */
  readonly cpuSeconds: number;
  /** Null when none goes on. */
  readonly underWayMs: number | null;
}

async function measure(runs: number, lots: readonly Lot[]): Promise<Start> {
  const dataDir = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  const double = await startProviderDoubleProcess({ script: { fault: { kind: 'silence' } } });
  let service: BenchService | null = null;
  try {
    if (runs > 0) await generate(dataDir, runs, lots);
    const startedMs = performance.now();
    service = await startService({ LMSTUDIO_BASE_URL: double.baseUrl }, [], dataDir);
    const readyMs = performance.now() - startedMs;
    const cpuSeconds = await service.cpuSeconds();
    const resumed = Array.from({ length: runs }, (_, i) => lotOf(i, lots)).filter(
      (lot) => lot.isResumed,
    ).length;
    if (resumed === 0) return { readyMs, cpuSeconds, underWayMs: null };
    while ((await double.stats()).requestCount < resumed) {
      if (performance.now() - startedMs > UNDER_WAY_MS_MAX) throw new Error('not all runs have gone on');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return { readyMs, cpuSeconds, underWayMs: performance.now() - startedMs };
  } finally {
    // The streams first: a service that stops would wait for its runs.
    await double.stop();
    await service?.stop('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** What a process that was killed leaves behind. */
async function generate(directory: string, runs: number, lots: readonly Lot[]): Promise<void> {
  const storage = await openStorage({ directory, primary: true });
  const store = openRunStore(storage);
  for (let from = 0; from < runs; from += WRITTEN_AT_ONCE) {
    const indexes = Array.from({ length: Math.min(WRITTEN_AT_ONCE, runs - from) }, (_, i) => from + i);
    await Promise.all([
      writeRecords(storage, store, indexes),
      ...indexes.map((index) => writeJournals(store, index, lotOf(index, lots))),
    ]);
  }
  await storage.close();
}

function lotOf(index: number, lots: readonly Lot[]): Lot {
  return lots[index % lots.length] as Lot;
}

const runIdOf = (index: number): string => index.toString(16).padStart(16, '0');

function writeRecords(storage: Storage, store: RunStore, indexes: readonly number[]): Promise<void> {
  const nowMs = Date.now();
  return storage.write('committed', (tx) => {
    for (const index of indexes) {
      const record: RunRecord = {
        run_id: runIdOf(index),
        user_id: 'default',
        session_id: `conversation ${index}`,
        origin: 'stream',
        resumes: 0,
        status: 'running',
        request: { message: `Question number ${index}: what is it that goes on here?`, model: MODEL },
        createdAtMs: nowMs + index,
        updatedAtMs: nowMs + index,
      };
      tx.put(store.records, record.run_id, record);
    }
  });
}

async function writeJournals(store: RunStore, index: number, { events: eventsOf, step }: Lot): Promise<void> {
  const runId = runIdOf(index);
  const events = eventsOf(runId);
  for (let from = 0; from < events.length; from += EVENTS_PER_APPEND) {
    await store.journals.append(runId, from + 1, events.slice(from, from + EVENTS_PER_APPEND));
  }
  if (step) await store.steps.append(runId, 1, [STEP]);
}

const said = <Name extends keyof RunEvents>(event: Name, payload: RunEvents[Name]): JournaledEvent => [
  event,
  JSON.stringify(payload),
];
const status = (phase: RunEvents['status']['phase']): JournaledEvent =>
  said('status', { phase, label: `${phase}…` });

const BEGUN = (runId: string): readonly JournaledEvent[] => [
  status('recalling'),
  status('composing'),
  said('start', {
    task_id: '12345678',
    session_id: runId,
    model: 'double-1',
    model_display_name: 'double-1',
    profile_name: null,
    agent_name: 'AgentX',
    agent_id: null,
    context_window: 32_768,
    max_output_tokens: 4_096,
  }),
  status('thinking'),
];
const ROUND: readonly JournaledEvent[] = [
  said('chunk', { content: 'I note that.' }),
  status('running_tool'),
  said('tool_call', { tool: 'scratchpad_note', tool_call_id: 'call_1', arguments: { note: 'noted' } }),
  said('tool_result', {
    tool: 'scratchpad_note',
    tool_call_id: 'call_1',
    content: '{"status":"saved","scratchpad":"noted"}',
    success: true,
    duration_ms: 2,
  }),
  status('reading'),
];
const ANSWER: readonly JournaledEvent[] = Array.from({ length: CHUNKS }, (_, i) =>
  said('chunk', { content: `word number ${i} ` }),
);

const STEP: RunStep = {
  seq: BEGUN('').length + ROUND.length,
  taskId: '12345678',
  startedAtMs: Date.now(),
  model: MODEL,
  messages: [
    {
      role: 'assistant',
      content: 'I note that.',
      toolCalls: [
        {
          id: 'call_1',
          name: 'scratchpad_note',
          arguments: { note: 'noted' },
          argumentsText: '{"note":"noted"}',
        },
      ],
    },
    {
      role: 'tool',
      content: '{"status":"saved","scratchpad":"noted"}',
      toolCallId: 'call_1',
      name: 'scratchpad_note',
    },
  ],
  transcript: {
    toolRows: [
      { role: 'tool_call', content: '{"note":"noted"}', atMs: 1, metadata: { tool: 'scratchpad_note' } },
      { role: 'tool_result', content: '{"status":"saved"}', atMs: 2, metadata: { tool: 'scratchpad_note' } },
    ],
    steerRows: [],
    toolNames: ['scratchpad_note'],
    textsFrom: 0,
    texts: ['I note that.'],
    goesOn: false,
  },
  usage: {
    model: 'double-1',
    inputTokens: 100,
    outputTokens: 10,
    reasoningTokens: 0,
    costUsd: null,
    isEstimate: false,
    contextTokens: 110,
  },
  loop: { rounds: 1, isToldToAnswer: false, continued: false },
};

const answering: Lot = {
  what: 'in the middle of an answer',
  isResumed: false,
  events: (runId) => [...BEGUN(runId), ...ANSWER],
  step: false,
};
const inATool: Lot = {
  what: 'with a tool call in flight',
  isResumed: false,
  events: (runId) => [...BEGUN(runId), ...ROUND.slice(0, 3)],
  step: false,
};
const betweenSteps: Lot = {
  what: 'between steps',
  isResumed: true,
  events: (runId) => [...BEGUN(runId), ...ROUND, status('thinking')],
  step: true,
};
const waiting: Lot = { what: 'not begun', isResumed: true, events: () => [], step: false };

const MIXES: readonly (readonly [string, readonly Lot[]])[] = [
  ['all in the middle of their answers', [answering]],
  ['all between their steps', [betweenSteps]],
  ['of every kind', [answering, inATool, betweenSteps, waiting]],
];

function load(): string {
  return loadavg()
    .map((value) => value.toFixed(1))
    .join(', ');
}
