import { describe, expect, test } from 'vitest';
import { CHECKPOINT_LIFETIME_MS, SCRATCHPAD_LENGTH_MAX } from '../../../src/actors/conversations/protocol.ts';
import {
  addCheckpoint,
  addToSlot,
  agentEntries,
  EMPTY_MEMORY,
  filledParts,
  liveCheckpoints,
  parseEntries,
  parseSlot,
  replaceSlot,
  viewCheckpoint,
  type WorkingMemory,
  writeScratchpad,
} from '../../../src/actors/conversations/working-memory.ts';

const T0 = Date.UTC(2026, 6, 14);
const DAY_MS = 24 * 3600 * 1000;

function texts(memory: WorkingMemory, slot: 'goals' | 'narrative' = 'goals'): string[] {
  return memory.state[slot].map((entry) => entry.text);
}

describe('a slot of the structured state', () => {
  test('has one of five names', () => {
    expect(parseSlot('open_threads')).toBe('open_threads');
    for (const slot of ['digest', 'constructor', '']) {
      expect(() => parseSlot(slot)).toThrow(expect.objectContaining({ code: 'conversation_invalid' }));
    }
  });

  test('takes texts and objects, and the user is the author unless it says otherwise', () => {
    const entries = parseEntries(['ship it', { text: 'test it', author: 'agent', source_turn: 3 }], T0);
    expect(entries).toEqual([
      { text: 'ship it', author: 'user', source_turn: null, updated_at: '2026-07-14T00:00:00.000000+00:00' },
      { text: 'test it', author: 'agent', source_turn: 3, updated_at: '2026-07-14T00:00:00.000000+00:00' },
    ]);
    expect(() => parseEntries([{ text: 'x', author: 'nobody' }], T0)).toThrow(/author/);
  });

  test('keeps the newest twenty entries and drops blank ones', () => {
    const entries = parseEntries(['', ...Array.from({ length: 25 }, (_, n) => `goal ${n}`), '  '], T0);
    const memory = replaceSlot(EMPTY_MEMORY, 'goals', entries);
    expect(texts(memory)).toHaveLength(20);
    expect(texts(memory)[0]).toBe('goal 5');
    expect(texts(memory).at(-1)).toBe('goal 24');
  });

  test('cuts entries at 600 characters, those of the narrative at 1200', () => {
    const long = parseEntries(['x'.repeat(2000)], T0);
    expect(texts(replaceSlot(EMPTY_MEMORY, 'goals', long))).toEqual(['x'.repeat(600)]);
    expect(texts(replaceSlot(EMPTY_MEMORY, 'narrative', long), 'narrative')).toEqual(['x'.repeat(1200)]);
  });

  test('is added to by the agent, and what it says again is renewed, also when it was cut', () => {
    const first = addToSlot(EMPTY_MEMORY, 'goals', agentEntries(['a', 'b', 'y'.repeat(900)], 0, T0));
    const second = addToSlot(first, 'goals', agentEntries(['c', ' a ', 'y'.repeat(900)], 4, T0 + DAY_MS));
    expect(texts(second)).toEqual(['b', 'c', 'a', 'y'.repeat(600)]);
    expect(second.state.goals[2]).toMatchObject({ author: 'agent', source_turn: 4 });
  });

  test('leaves the other slots and the digest alone', () => {
    const before = { ...EMPTY_MEMORY, state: { ...EMPTY_MEMORY.state, digest: 'so far' } };
    const after = replaceSlot(before, 'artifacts', agentEntries(['a.md'], 0, T0));
    expect(after.state).toMatchObject({ digest: 'so far', goals: [] });
  });
});

describe('checkpoints', () => {
  const checkpoint = (summary: string, createdAtMs = T0) => ({
    summary,
    decisions: [],
    nextStep: '',
    createdAtMs,
  });
  const withAll = (...all: readonly ReturnType<typeof checkpoint>[]) =>
    all.reduce((memory, next) => addCheckpoint(memory, next, false), EMPTY_MEMORY);
  const summaries = (memory: WorkingMemory, nowMs = T0) =>
    liveCheckpoints(memory, nowMs).map((c) => c.summary);

  test('are eight at most: the first stays, the oldest of the others goes', () => {
    const memory = withAll(...Array.from({ length: 11 }, (_, n) => checkpoint(`c${n}`)));
    expect(summaries(memory)).toEqual(['c0', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9', 'c10']);
  });

  test('lapse after seven days, the first only together with the last', () => {
    const memory = withAll(
      checkpoint('first'),
      checkpoint('second', T0 + DAY_MS),
      checkpoint('third', T0 + 5 * DAY_MS),
    );
    expect(summaries(memory, T0 + CHECKPOINT_LIFETIME_MS + 2 * DAY_MS)).toEqual(['first', 'third']);
    expect(summaries(memory, T0 + CHECKPOINT_LIFETIME_MS + 5 * DAY_MS)).toEqual([]);
    expect(summaries(withAll(checkpoint('only')), T0 + CHECKPOINT_LIFETIME_MS)).toEqual([]);
  });

  test('are replaced by one that says so', () => {
    const memory = addCheckpoint(withAll(checkpoint('a'), checkpoint('b')), checkpoint('c'), true);
    expect(summaries(memory)).toEqual(['c']);
  });

  test('have short texts, and are shown in the names of the wire', () => {
    const wordy = {
      summary: 's'.repeat(5000),
      decisions: Array(30).fill('d'.repeat(900)),
      nextStep: 'n',
      createdAtMs: T0,
    };
    const [kept] = liveCheckpoints(addCheckpoint(EMPTY_MEMORY, wordy, false), T0);
    expect(kept && viewCheckpoint(kept)).toEqual({
      summary: 's'.repeat(2000),
      decisions: Array(20).fill('d'.repeat(600)),
      next_step: 'n',
      created_at: '2026-07-14T00:00:00.000000+00:00',
    });
  });
});

describe('the scratchpad', () => {
  test('gets a line for each note, and starts over on a replacement', () => {
    const two = writeScratchpad(writeScratchpad(EMPTY_MEMORY, 'one', false), 'two', false);
    expect(two.scratchpad).toBe('one\ntwo');
    expect(writeScratchpad(two, 'three', true).scratchpad).toBe('three');
  });

  test('loses its beginning when it is full', () => {
    const full = writeScratchpad(EMPTY_MEMORY, 'x'.repeat(SCRATCHPAD_LENGTH_MAX), false);
    const { scratchpad } = writeScratchpad(full, 'last words', false);
    expect(scratchpad).toHaveLength(SCRATCHPAD_LENGTH_MAX);
    expect(scratchpad.endsWith('x\nlast words')).toBe(true);
  });
});

test('the filled parts are named', () => {
  expect(filledParts(EMPTY_MEMORY)).toEqual([]);
  const noted = addToSlot(writeScratchpad(EMPTY_MEMORY, 'x', false), 'goals', agentEntries(['g'], 0, T0));
  expect(filledParts(noted)).toEqual(['state', 'scratchpad']);
});
