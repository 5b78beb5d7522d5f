// A provider that fails in every way it can, for many runs at once: each comes to the end that is due, and nothing is left
// of any of them.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import { eventually } from '../../support/eventually.ts';
import type { Reply } from '../../support/provider-double-script.ts';
import { numberingFlaws, orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import { openTroupe, type Turn } from '../../support/troupe.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const RUNS_AT_ONCE = 150;
const WAVES = 2;
/** Longer than a busy machine keeps a healthy stream waiting. */
const PROVIDER_TIMEOUT_S = 5;
/** What buffers, caches and compiled code may gain from one wave to the next. */
const HEAP_GROWTH_MAX = 8 * 1024 * 1024;

const ANSWER = { text: ['One ', 'two ', 'three.'] } as const;
const status = (code: number, retryAfter?: string): Reply => ({
  fault: {
    kind: 'status',
    status: code,
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
  },
});

interface Case {
  /** One after the other; the last one for all further calls. */
  readonly replies: readonly Reply[];
  /** What `done` gives as the reason, or the code of the error. */
  readonly end: { readonly done: string } | { readonly error: string };
  readonly text?: RegExp;
}

const DONE = { end: { done: 'stop' }, text: /One two three\.$/ } as const;
const CUT_SHORT = { end: { done: 'error' }, text: /^One two \n\n\[The answer was cut short: .+\]$/ } as const;

const CASES: Readonly<Record<string, Case>> = {
  healthy: { replies: [ANSWER], ...DONE },
  'in single bytes': { replies: [{ ...ANSWER, cutEveryBytes: 1 }], ...DONE },
  'answers in one body': { replies: [{ ...ANSWER, blocking: true }], end: { error: 'provider_malformed' } },
  'without usage': { replies: [{ ...ANSWER, usage: null }], ...DONE },
  'limits the rate for a while': { replies: [status(429, '0.05'), status(429, '0.05'), ANSWER], ...DONE },
  'limits the rate': { replies: [status(429, '0.01')], end: { error: 'provider_rate_limited' } },
  'limits the rate for an hour': { replies: [status(429, '3600')], end: { error: 'provider_rate_limited' } },
  'is out of order once': { replies: [status(500), ANSWER], ...DONE },
  'is out of order': { replies: [status(503)], end: { error: 'provider_unreachable' } },
  'rejects the request': { replies: [status(400)], end: { error: 'provider_rejected' } },
  'is cut at once, once': {
    replies: [{ ...ANSWER, fault: { kind: 'cut', afterChunks: 0 } }, ANSWER],
    ...DONE,
  },
  'is cut at once': {
    replies: [{ ...ANSWER, fault: { kind: 'cut', afterChunks: 0 } }],
    end: { error: 'provider_unreachable' },
  },
  'is cut in the middle': { replies: [{ ...ANSWER, fault: { kind: 'cut', afterChunks: 2 } }], ...CUT_SHORT },
  'is cut behind its end': { replies: [{ ...ANSWER, fault: { kind: 'cut_after_finish' } }], ...DONE },
  'talks nonsense at once, once': {
    replies: [{ ...ANSWER, fault: { kind: 'malformed', afterChunks: 0 } }, ANSWER],
    ...DONE,
  },
  'talks nonsense in the middle': {
    replies: [{ ...ANSWER, fault: { kind: 'malformed', afterChunks: 2 } }],
    ...CUT_SHORT,
  },
  'reports an error in the middle': {
    replies: [{ ...ANSWER, fault: { kind: 'error_event', afterChunks: 2, message: 'overloaded' } }],
    ...CUT_SHORT,
  },
  stalls: { replies: [{ ...ANSWER, fault: { kind: 'stall', afterChunks: 2 } }], ...CUT_SHORT },
  'is silent once': { replies: [{ ...ANSWER, fault: { kind: 'silence' } }, ANSWER], ...DONE },
  'calls a tool with broken arguments': {
    replies: [{ toolCalls: [{ name: 'scratchpad_note', arguments: '{"note": ' }] }, ANSWER],
    ...DONE,
  },
  'is cut in a tool call': {
    replies: [
      {
        text: ['One ', 'two '],
        toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'half' } }],
        toolFragments: 4,
        fault: { kind: 'cut', afterChunks: 4 },
      },
    ],
    ...CUT_SHORT,
  },
};
const NAMES = Object.keys(CASES);

const app = await openTroupe({ requestsKeptMax: 0 });
afterAll(() => app.close());

test(`${RUNS_AT_ONCE} runs at once end as they have to, and leave nothing behind (TEST_SEED=${seed})`, {
  timeout: 180_000,
}, async () => {
  console.log(`faults-at-scale.test.ts: TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  await app.configure({ providers: { lmstudio: { timeout: PROVIDER_TIMEOUT_S } } });
  const actorsBefore = await actorCount();
  const heaps: number[] = [];
  for (let wave = 0; wave < WAVES; wave += 1) {
    const calls = new Map<string, number>();
    app.double.answer(({ body }) => {
      const question = (body.messages ?? []).findLast(({ role }) => role === 'user')?.content as string;
      const { replies } = CASES[caseOf(question)] as Case;
      const call = calls.get(question) ?? 0;
      calls.set(question, call + 1);
      return replies[Math.min(call, replies.length - 1)] as Reply;
    });
    // Each case, and then any.
    const questions = Array.from({ length: RUNS_AT_ONCE }, (_, i) => {
      const name = NAMES[i] ?? NAMES[Math.floor(random.float() * NAMES.length)];
      return `${wave}.${i}: ${name}`;
    });
    const turns = await Promise.all(questions.map((question) => app.turn(question)));
    for (const [i, turn] of turns.entries()) await examine(questions[i] as string, turn);
    await eventually(actorCount).toBe(actorsBefore);
    await eventually(() => app.double.openCount).toBe(0);
    const { body } = await app.call('GET', '/api/agent/status');
    expect(body.active_sessions).toBe(0);
    heaps.push(heapUsed());
  }
  const growth = (heaps.at(-1) as number) - (heaps.at(-2) as number);
  console.log(`faults-at-scale.test.ts: heap ${heaps.map((bytes) => Math.round(bytes / 2 ** 20))} MB`);
  expect(growth).toBeLessThan(HEAP_GROWTH_MAX);
});

function caseOf(question: string): string {
  return question.slice(question.indexOf(': ') + 2);
}

async function examine(question: string, { runId, events, sessionId }: Turn): Promise<void> {
  const { end, text } = CASES[caseOf(question)] as Case;
  expect(numberingFlaws(events), question).toEqual([]);
  const isDone = 'done' in end;
  expect(orderOf(events).slice(-2), question).toEqual([isDone ? 'done' : 'error', 'close']);
  if (isDone) expect(payloadOf(events, 'done').finish_reason, question).toBe(end.done);
  else expect(payloadOf(events, 'error').code, question).toBe(end.error);
  if (text !== undefined) expect(textOf(events), question).toMatch(text);
  const rows = await app.messages(sessionId);
  expect(rows.filter(({ role }) => role === 'user')).toMatchObject([{ content: question }]);
  const answer = rows.findLast(({ role }) => role === 'assistant');
  if (isDone) expect(answer?.content, question).toMatch(text as RegExp);
  const attached = await (await app.attach(runId)).rest();
  expect(attached, question).toEqual(events);
}

async function actorCount(): Promise<number> {
  return (await app.call('GET', '/api/runtime')).body.totals.actors;
}

/** What this thread, the service's edge among the rest of us, holds on to. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
