// What becomes of a run that was lost, decided from its journal.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JournaledEvent, RunEvents } from '../../../src/actors/runs/events.ts';
import { type LostRun, settleLostRun } from '../../../src/actors/runs/settlement.ts';
import type { RunRecord } from '../../../src/actors/runs/store.ts';

const NOW_MS = 2_000;
const LOST = { status: 'failed', reason: 'The run host run-1 was lost' } as const;
const CANCELLED = { status: 'cancelled' } as const;

const RECORD: RunRecord = {
  run_id: 'r1',
  user_id: 'ada',
  session_id: 's1',
  origin: 'stream',
  resumes: 0,
  status: 'running',
  request: { message: 'Where?' },
  createdAtMs: 1_000,
  updatedAtMs: 1_000,
};

function said<Name extends keyof RunEvents>(
  event: Name,
  payload: Partial<RunEvents[Name]> = {},
): JournaledEvent {
  return [event, JSON.stringify(payload)];
}
const chunk = (content: string): JournaledEvent => said('chunk', { content });
const thinking = said('status', { phase: 'thinking', label: 'Thinking…' });

function settle(events: readonly JournaledEvent[], options: Partial<LostRun> = {}) {
  const settlement = settleLostRun({ record: RECORD, events, end: LOST, nowMs: NOW_MS, ...options });
  const rows = settlement.rows?.map(({ role, content }) => `${role}: ${content}`) ?? null;
  return { ...settlement, rows, stored: settlement.rows };
}

describe('a run that was lost', () => {
  test('before it said anything fails with the reason; the question is kept', () => {
    expect(settle([])).toMatchObject({
      status: 'failed',
      rows: ['user: Where?'],
      lastEvents: [said('error', { error: LOST.reason, code: 'run_lost' }), said('close')],
    });
  });

  test('in the middle of its answer keeps what was shown, as an interrupted row without its thoughts', () => {
    const { status, stored } = settle([thinking, chunk('<think>Hm'), chunk('m</think>In Lis')]);
    expect(status).toBe('failed');
    expect(stored?.at(-1)).toEqual({
      role: 'assistant',
      content: 'In Lis',
      atMs: NOW_MS,
      metadata: { interrupted: true, agent_name: 'AgentX' },
    });
  });

  test('between tools keeps those that were done, and the texts of each call of the model apart', () => {
    const call = (tool_call_id: string) =>
      said('tool_call', { tool: 'scratchpad_note', tool_call_id, arguments: { note: tool_call_id } });
    const { rows, stored } = settle([
      thinking,
      chunk('I look.'),
      call('c1'),
      call('c2'),
      said('tool_result', {
        tool: 'scratchpad_note',
        tool_call_id: 'c1',
        content: 'noted',
        success: true,
        duration_ms: 3,
      }),
      thinking,
      chunk('So '),
      chunk('far.'),
    ]);
    expect(rows).toEqual([
      'user: Where?',
      'tool_call: {"note":"c1"}',
      'tool_result: noted',
      'assistant: I look.\n\nSo far.',
    ]);
    expect(stored?.[2]?.metadata).toMatchObject({
      tool: 'scratchpad_note',
      tool_call_id: 'c1',
      success: true,
    });
  });

  test('keeps an exhibit that was shown as the call that shows it again', () => {
    const exhibit = {
      schema_version: 1,
      id: 'exh_1',
      title: null,
      layout: 'stack',
      elements: [{ type: 'text', content: 'Hello' }],
    } as const;
    const { stored } = settle([thinking, said('exhibit', exhibit as unknown as RunEvents['exhibit'])]);
    expect(stored?.[1]).toMatchObject({ role: 'tool_call', metadata: { tool: 'present_exhibit' } });
    expect(JSON.parse(stored?.[1]?.content ?? '')).toEqual({
      id: 'exh_1',
      title: null,
      layout: 'stack',
      elements: exhibit.elements,
    });
  });

  test('keeps a steer, which does not cut the answer in two', () => {
    const steer = said('steer', { id: 's', message: 'And when?' });
    expect(settle([thinking, chunk('In Lis'), steer, chunk('bon.')]).rows).toEqual([
      'user: Where?',
      'user: And when?',
      'assistant: In Lisbon.',
    ]);
  });

  test('while it continued a long answer keeps it as one text', () => {
    const truncated = said('status', { phase: 'truncated', label: 'Continuing…' });
    const waiting = said('status', { phase: 'thinking', label: 'Still waiting…' });
    const events = [thinking, chunk('The quick brown f'), truncated, thinking, waiting, chunk('ox')];
    expect(settle(events).rows?.at(-1)).toBe('assistant: The quick brown fox');
  });

  test('keeps the attachments of the question', () => {
    const images = [{ workspace_id: 'ws_home', doc_id: 'd1' }];
    const record = { ...RECORD, request: { message: 'What is this?', images } };
    expect(settle([], { record }).stored?.[0]).toMatchObject({ role: 'user', metadata: { images } });
  });

  test('stores nothing when the turn is not to be stored', () => {
    const record = { ...RECORD, request: { message: 'Psst', use_memory: false } };
    expect(settle([chunk('Psst')], { record })).toMatchObject({ status: 'failed', rows: null });
  });
});

describe('a run that was all but over', () => {
  test('is done when it said so: its rows were saved before', () => {
    const events = [chunk('All.'), said('done')];
    expect(settle(events)).toMatchObject({ status: 'done', rows: null, lastEvents: [said('close')] });
    expect(settle([...events, said('close')])).toMatchObject({ status: 'done', rows: null, lastEvents: [] });
  });

  test('keeps the failure that it told', () => {
    const failure = said('error', { error: 'lmstudio answered 500' });
    expect(settle([failure])).toMatchObject({ status: 'failed', lastEvents: [said('close')] });
    expect(settle([failure, said('close')])).toMatchObject({ status: 'failed', lastEvents: [] });
  });

  test('was cancelled when it closed without a word', () => {
    expect(settle([chunk('Half'), said('close')])).toMatchObject({ status: 'cancelled', lastEvents: [] });
  });
});

test('a run that its user cancels while nobody runs it closes without an error', () => {
  expect(settle([chunk('Half')], { end: CANCELLED })).toMatchObject({
    status: 'cancelled',
    rows: ['user: Where?', 'assistant: Half'],
    lastEvents: [said('close')],
  });
});

test('wherever a journal stops, its settlement closes it once, and settling again changes nothing', () => {
  const middle = fc.constantFrom(
    thinking,
    chunk('text '),
    chunk('<think>'),
    said('steer', { id: 's', message: 'Go on' }),
    said('tool_call', { tool: 't', tool_call_id: 'c', arguments: {} }),
    said('tool_result', { tool: 't', tool_call_id: 'c', content: 'x', success: true, duration_ms: 1 }),
  );
  const last = fc.constantFrom<readonly JournaledEvent[]>(
    [said('done'), said('close')],
    [said('error', { error: 'no' }), said('close')],
    [said('close')],
  );
  const end = fc.constantFrom(LOST, CANCELLED);
  fc.assert(
    fc.property(
      fc.array(middle, { maxLength: 12 }),
      last,
      fc.nat(14),
      end,
      (events, ending, kept, reason) => {
        const journal = [...events, ...ending].slice(0, kept);
        const first = settle(journal, { end: reason });
        const closed = [...journal, ...first.lastEvents];
        expect(closed.filter(([event]) => event === 'close')).toHaveLength(1);
        expect(closed.at(-1)?.[0]).toBe('close');
        const again = settle(closed, { end: LOST });
        expect(again.lastEvents).toEqual([]);
        expect([again.status, again.rows]).toEqual([first.status, first.rows]);
      },
    ),
  );
});
