// What becomes of a run that is lost, and what a resumed one goes on from, decided from its journal and its steps.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JournaledEvent, RunEvents } from '../../../src/actors/runs/events.ts';
import { RESUMES_MAX } from '../../../src/actors/runs/protocol.ts';
import {
  FRESH,
  fateOf,
  type LostRunFacts,
  pendingSteers,
  resumptionOf,
} from '../../../src/actors/runs/resumption.ts';
import type { RunStep } from '../../../src/actors/runs/steps.ts';
import { Transcript } from '../../../src/actors/runs/transcript.ts';

function said<Name extends keyof RunEvents>(
  event: Name,
  payload: Partial<RunEvents[Name]> = {},
): JournaledEvent {
  return [event, JSON.stringify(payload)];
}
const status = (phase: RunEvents['status']['phase']): JournaledEvent => said('status', { phase, label: '…' });
const call = said('tool_call', { tool: 't', tool_call_id: 'c' });
const result = said('tool_result', { tool: 't', tool_call_id: 'c' });
const steer = said('steer', { id: 's', message: 'And when?' });

const QUIET = [status('thinking'), status('reading'), steer, said('start', { model: 'm' }), said('info')];
const SHOWN = [said('chunk', { content: 'In' }), result, said('exhibit')];
const ENDS = [said('done'), said('error'), said('close')];

const RECORD: LostRunFacts['record'] = { origin: 'stream', resumes: 0, request: { message: 'Where?' } };

function fate(behind: readonly JournaledEvent[], facts: Partial<LostRunFacts> = {}) {
  return fateOf({
    record: RECORD,
    behind,
    isResumeAllowed: true,
    isMemoryLost: true,
    isStored: false,
    ...facts,
  });
}

describe('a lost run', () => {
  test('is resumed when nothing but quiet events stand behind its last step, whatever their order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...QUIET)), (behind) => {
        expect(fate(behind)).toEqual({ kind: 'resumed', isCounted: true });
      }),
    );
  });

  test('is settled when anything of an answer was shown, or a tool was called', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...QUIET)),
        fc.array(fc.constantFrom(...SHOWN, call), { minLength: 1 }),
        fc.array(fc.constantFrom(...QUIET)),
        (before, shown, after) => {
          expect(fate([...before, ...shown, ...after]).kind).toBe('settled');
        },
      ),
    );
  });

  test('has finished when its journal says how it ended', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...QUIET, ...SHOWN, call)),
        fc.constantFrom(...ENDS),
        (behind, end) => {
          expect(fate([...behind, end])).toEqual({ kind: 'finished' });
        },
      ),
    );
  });

  test('that its user has cancelled is not taken up again, unless it has ended otherwise', () => {
    const record = { ...RECORD, isCancelled: true };
    expect(fate([status('thinking')], { record })).toEqual({ kind: 'cancelled' });
    expect(fate([said('chunk'), call], { record })).toEqual({ kind: 'cancelled' });
    expect(fate([said('done')], { record })).toEqual({ kind: 'finished' });
  });

  test('whose tool call has no result says that it is not repeated', () => {
    const inFlight = { kind: 'settled', why: expect.stringContaining('not repeated') };
    expect(fate([status('running_tool'), call])).toEqual(inFlight);
    expect(fate([call, call, result])).toEqual(inFlight);
    expect(fate([call, steer])).toEqual(inFlight);
  });

  test('whose tools have answered, but whose step was not saved, is settled: the results are not there in full', () => {
    expect(fate([call, result, status('reading')])).toMatchObject({ kind: 'settled' });
  });

  test.each<[string, Partial<LostRunFacts>, RegExp]>([
    ['when that is switched off', { isResumeAllowed: false }, /runs\.resume_on_boot is off/],
    ['when its rows are stored already', { isStored: true }, /while the end of the answer was being saved/],
    ['for a blocking chat', { record: { ...RECORD, origin: 'chat' } }, /blocking chat/],
    ['too often', { record: { ...RECORD, resumes: RESUMES_MAX } }, /resumed 3 times before/],
    [
      'without the earlier turns of a conversation that is not stored',
      { record: { ...RECORD, request: { session_id: 's', use_memory: false } } },
      /not to be stored/,
    ],
  ])('is not resumed %s', (_, facts, why) => {
    expect(fate([status('thinking')], facts)).toEqual({ kind: 'settled', why: expect.stringMatching(why) });
  });

  test('is resumed as a background job, at its last chance, and as a turn that knows no earlier ones', () => {
    const records = [
      { ...RECORD, origin: 'job' as const },
      { ...RECORD, resumes: RESUMES_MAX - 1 },
      { ...RECORD, request: { use_memory: false } },
    ];
    for (const record of records) expect(fate([], { record }).kind).toBe('resumed');
    const later = { ...RECORD, request: { session_id: 's', use_memory: false } };
    expect(fate([], { record: later, isMemoryLost: false }).kind).toBe('resumed');
  });

  test('that was left in good order is not counted as lost, though it was steered since', () => {
    expect(fate([status('suspended')])).toEqual({ kind: 'resumed', isCounted: false });
    expect(fate([status('thinking'), status('suspended'), steer])).toMatchObject({ isCounted: false });
    expect(fate([status('suspended'), status('resumed')])).toMatchObject({ isCounted: true });
  });
});

test('the steers behind the last step wait again, in order', () => {
  const later = said('steer', { id: 's2', message: 'With whom?' });
  expect(pendingSteers([status('thinking'), steer, status('thinking'), later], 7)).toEqual([
    { id: 's', message: 'And when?', atMs: 7 },
    { id: 's2', message: 'With whom?', atMs: 7 },
  ]);
});

describe('a resumed run', () => {
  const gain = new Transcript({ message: 'Where?' }, 0).takeGain();
  const step = (n: number): RunStep => ({
    seq: 10 * n,
    taskId: 'task',
    startedAtMs: 1_000,
    model: 'lmstudio:org/model:free',
    messages: [{ role: 'user', content: `message ${n}` }],
    transcript: gain,
    usage: {
      model: 'org/model:free',
      inputTokens: n,
      outputTokens: n,
      reasoningTokens: 0,
      costUsd: null,
      isEstimate: true,
      contextTokens: n,
    },
    loop: { rounds: n, isToldToAnswer: false, continued: false },
  });

  test('that has only waited begins for the first time', () => {
    expect(resumptionOf([], [])).toEqual(FRESH);
    expect(resumptionOf([], [status('queued'), steer, status('queued')])).toEqual(FRESH);
  });

  test('without a step knows what it said of itself, and which model stood in', () => {
    const start = said('start', { task_id: 'task', model: 'm2' });
    const fallback = said('status', {
      phase: 'model_fallback',
      label: 'm1 unavailable',
      detail: 'vercel:m2',
    });
    expect(resumptionOf([], [status('queued'), fallback, status('recalling'), start])).toEqual({
      ...FRESH,
      hasBegun: true,
      started: { taskId: 'task', modelId: 'm2' },
      model: 'vercel:m2',
    });
    expect(resumptionOf([], [status('recalling')])).toEqual({ ...FRESH, hasBegun: true });
  });

  test('has all messages of its steps, and the totals of the last one', () => {
    expect(resumptionOf([step(1), step(2)], [status('thinking')])).toEqual({
      hasBegun: true,
      started: { taskId: 'task', modelId: 'org/model:free' },
      model: 'lmstudio:org/model:free',
      startedAtMs: 1_000,
      messages: [...step(1).messages, ...step(2).messages],
      transcript: [gain, gain],
      usage: step(2).usage,
      loop: step(2).loop,
    });
  });
});

test('a transcript is the same again from its gains, wherever they were taken', () => {
  type Deed = (transcript: Transcript) => void;
  const text = fc.constantFrom('', ' ', 'The quick ', 'brown', '<think>fox</think>');
  const deed = fc.oneof(
    text.map(
      (written): Deed =>
        (transcript) =>
          transcript.wrote(written),
    ),
    fc.constant<Deed>((transcript) => transcript.goOn()),
    fc.nat(9).map(
      (n): Deed =>
        (transcript) =>
          transcript.called(
            { tool: `t${n}`, toolCallId: 'c', argumentsText: '{}', atMs: n },
            n < 3 ? null : { content: 'x', success: true, durationMs: 1 },
          ),
    ),
    fc.nat(9).map(
      (n): Deed =>
        (transcript) =>
          transcript.steered({ id: 's', message: `${n}`, atMs: n }, n, transcript.toolNames, 'tool_boundary'),
    ),
  );
  fc.assert(
    fc.property(
      fc.array(fc.array(deed, { maxLength: 5 }), { maxLength: 6 }),
      fc.array(deed),
      (lives, last) => {
        const whole = new Transcript({ message: 'Go' }, 0);
        const restored = new Transcript({ message: 'Go' }, 0);
        for (const deeds of lives) {
          for (const act of deeds) act(whole);
          restored.restore(structuredClone(whole.takeGain()));
        }
        for (const act of last) {
          act(whole);
          act(restored);
        }
        expect(restored.rows(9, {})).toEqual(whole.rows(9, {}));
        expect([restored.toolNames, restored.thinking, restored.closing]).toEqual([
          whole.toolNames,
          whole.thinking,
          whole.closing,
        ]);
        // What it gains from now on is the same too: a resumed run saves steps like any other.
        expect(restored.takeGain()).toEqual(whole.takeGain());
      },
    ),
  );
});
