// kill -9 at random moments of a hundred runs. After a restart on the same folder no run is left running, nothing that a
// reader was shown is missing or different, numbers have no gap, and the conversations hold what was said.

import { beforeAll, expect, test } from 'vitest';
import { type RandomSource, seededRandom } from '../../src/std/ids.ts';
import {
  type ProviderDoubleProcess,
  startProviderDoubleProcess,
} from '../support/provider-double-process.ts';
import { numberingFlaws, orderOf, payloadsOf, textOf } from '../support/run-events.ts';
import { type ServiceProcess, spawnService } from '../support/service-process.ts';
import type { ReadEvent, SseReader } from '../support/sse-reader.ts';
import { temporaryFolder } from '../support/storage.ts';
import { DOUBLE_MODEL } from '../support/troupe.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 4;
const RUNS_PER_ROUND = 25;
const STARTED_WITHIN_MS = 300;
const KILLED_WITHIN_MS = 900;

const ANSWER = Array.from({ length: 40 }, (_, i) => `word${i} `);
const NOTE = { name: 'scratchpad_note', arguments: { note: 'noted' } };
/** Plain turns and turns with a tool round, about 0.4 s each. */
const SCRIPT = {
  rules: [
    {
      when: { lastRole: 'user', lastText: 'note' },
      reply: { text: 'I note it.', toolCalls: [NOTE], firstDelayMs: 50 },
    },
    { when: {}, reply: { text: ANSWER, chunkDelayMs: 10 } },
  ],
};

let double: ProviderDoubleProcess;
beforeAll(async () => {
  double = await startProviderDoubleProcess({ script: SCRIPT });
  return () => double.stop();
});

/** One run as its reader saw it, as far as it came. */
interface Witness {
  readonly sessionId: string;
  readonly message: string;
  runId: string | null;
  readonly seen: ReadEvent[];
}

test(`a service that is killed in the middle of its runs comes back whole (TEST_SEED=${seed})`, {
  timeout: 120_000,
}, async () => {
  console.log(`kill.test.ts: TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  await using folder = await temporaryFolder();
  const start = (): ServiceProcess =>
    spawnService({
      dataDir: folder.directory,
      environment: { LMSTUDIO_BASE_URL: double.baseUrl },
      defaults: { model: DOUBLE_MODEL },
    });
  const fates = { unseen: 0, cut: 0, done: 0 };

  for (let round = 0; round < ROUNDS; round += 1) {
    const witnesses = await killedInTheMiddle(start, random, round);
    // Every other time it is killed once more while it comes back.
    if (round % 2 === 1) await killedAsItComesBack(start, random);
    await using service = start();
    await service.ready();
    for (const witness of witnesses) {
      await examine(service, witness);
      const isDone = witness.seen.some(({ event }) => event === 'done');
      fates[isDone ? 'done' : witness.runId === null ? 'unseen' : 'cut'] += 1;
    }
    const { body } = await service.call('GET', '/api/agent/chat/runs');
    expect(body.runs.map(({ status }: { readonly status: string }) => status)).not.toContain('running');
    const again = await Promise.all(
      witnesses.slice(0, 5).map(({ sessionId }) => service.turn('And now?', { session_id: sessionId })),
    );
    for (const { events, sessionId } of again) {
      expect(textOf(events)).toBe(ANSWER.join(''));
      const rows = await service.messages(sessionId);
      expect(rows.slice(-2).map(({ role }) => role)).toEqual(['user', 'assistant']);
    }
    await service.kill();
  }
  // Else the moments were badly chosen, and little was tested.
  console.log(`kill.test.ts: ${JSON.stringify(fates)}`);
  expect(fates.cut).toBeGreaterThan(ROUNDS);
});

async function killedInTheMiddle(
  start: () => ServiceProcess,
  random: RandomSource,
  round: number,
): Promise<readonly Witness[]> {
  await using service = start();
  await service.ready();
  // Each round has its own part of the time in which runs are alive: early, in the middle, late.
  const killAfterMs = 50 + ((round + random.float()) / ROUNDS) * (KILLED_WITHIN_MS - 50);
  const witnesses = Array.from({ length: RUNS_PER_ROUND }, (_, i): Witness => {
    const message = random.float() < 0.5 ? `note number ${i}` : `question number ${i}`;
    return { sessionId: `session ${round}.${i}`, message, runId: null, seen: [] };
  });
  const readings = witnesses.map(async (witness) => {
    await after(random.float() * STARTED_WITHIN_MS);
    await witnessRun(service, witness);
  });
  await after(killAfterMs);
  await service.kill();
  await Promise.all(readings);
  return witnesses;
}

async function killedAsItComesBack(start: () => ServiceProcess, random: RandomSource): Promise<void> {
  await using service = start();
  await after(200 + random.float() * 900);
  await service.kill();
}

/** Reads a run until it ends or the service is gone. */
async function witnessRun(service: ServiceProcess, witness: Witness): Promise<void> {
  let reader: SseReader;
  try {
    reader = await service.chat(witness.message, { session_id: witness.sessionId });
  } catch {
    return;
  }
  try {
    for await (const event of reader) {
      if (event.event === 'run_started') witness.runId = event.data.run_id;
      else witness.seen.push(event);
    }
  } catch {
    // It was cut; what had come by then has been kept.
  }
}

async function examine(service: ServiceProcess, { runId, sessionId, message, seen }: Witness): Promise<void> {
  expect(numberingFlaws(seen)).toEqual([]);
  // Accepted or not: whoever saw no run_started does not know.
  if (runId === null) return;
  const replay = await (await service.attach(runId)).rest();
  const isDone = orderOf(replay).includes('done');
  const entry = await service.listed(runId);
  expect(entry?.status).toBe(isDone ? 'done' : 'failed');
  expect(numberingFlaws(replay)).toEqual([]);
  expect(replay.slice(0, seen.length)).toEqual(seen);
  expect(orderOf(replay).slice(-2)).toEqual([isDone ? 'done' : 'error', 'close']);

  const rows = await service.messages(sessionId);
  expect(rows[0]).toMatchObject({ role: 'user', content: message });
  const calls = payloadsOf(replay, 'tool_result').map(({ tool_call_id }) => tool_call_id);
  const kept = rows.filter(({ role }) => role === 'tool_result').map(({ metadata }) => metadata.tool_call_id);
  expect(kept).toEqual(calls);
  const said = payloadsOf(replay, 'chunk')
    .map(({ content }) => content)
    .join('');
  const answer = rows
    .filter(({ role }) => role === 'assistant')
    .map(({ content }) => content)
    .join('');
  expect(squeezed(answer)).toBe(squeezed(said));
  if (isDone) expect(said.endsWith(ANSWER.join(''))).toBe(true);
}

/** Texts of two model calls are told without a break and stored with one. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}

/** The one wait in our tests that is for time itself: the moment of the kill is what is tested. */
function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
