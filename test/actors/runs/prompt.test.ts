// What the model reads at the beginning of a turn, and how it is made to fit.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/actors/conversations/protocol.ts';
import type { ModelMessage } from '../../../src/actors/providers/protocol.ts';
import {
  composePrompt,
  historyOfRows,
  historyOfTurns,
  NO_WORKING_MEMORY,
  outputBudget,
  type PromptParts,
} from '../../../src/actors/runs/prompt.ts';
import { estimateMessagesTokens } from '../../../src/actors/runs/tokens.ts';

const PARTS: PromptParts = {
  history: [],
  workingMemory: NO_WORKING_MEMORY,
  project: null,
  olderCount: 0,
  user: { role: 'user', content: 'Where?' },
  contextWindow: 32_768,
  outputTokens: 4_096,
  toolTokens: 0,
};

const compose = (parts: Partial<PromptParts>) => composePrompt({ ...PARTS, ...parts });
const entry = (text: string) => ({ text, author: 'agent', source_turn: null, updated_at: '' }) as const;
/** About `tokens` tokens. */
const turn = (tokens: number, index = 0): ModelMessage => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: 'word'.repeat(tokens),
});

describe('a prompt', () => {
  test('has room for images that are sent, and for the lines in place of others', () => {
    const refs = Array.from({ length: 20 }, (_, at) => ({
      kind: 'image' as const,
      workspace_id: 'ws_home',
      document_id: `doc_${at}`,
    }));
    const user = { role: 'user', content: 'Where?', media: refs } as const;
    const history = Array.from({ length: 10 }, (_, index) => turn(100, index));
    const told = Object.fromEntries(refs.map(({ document_id }) => [document_id, '[not shown]']));
    const withLines = compose({ history, user, media: told });
    const withImages = compose({ history, user });
    expect([withLines.droppedCount, withImages.droppedCount]).toEqual([0, 6]);
    expect(withImages.inputTokens - withLines.inputTokens).toBeGreaterThan(20 * 1_000);
    expect(withImages.messages[0]?.role).toBe('system');
  });

  test('begins with the house rules and ends with the new message', () => {
    const { messages, droppedCount } = compose({ history: [turn(1), turn(1, 1)] });
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(messages[0]?.content).toMatch(/^Your name is AgentX\./);
    expect(messages.at(-1)).toEqual({ role: 'user', content: 'Where?' });
    expect(droppedCount).toBe(0);
  });

  test('says what the agent noted: checkpoints, scratchpad, state, in this order', () => {
    const { messages } = compose({
      workingMemory: {
        checkpoints: [{ summary: 'Found it', decisions: ['stay'], next_step: 'rest', created_at: '' }],
        scratchpad: 'Lisbon',
        state: {
          goals: [entry('travel')],
          decisions: [],
          open_threads: [entry('when?')],
          artifacts: [],
          narrative: [],
          digest: '',
        },
      },
    });
    const notes = messages.slice(1, -1).map(({ content }) => content);
    expect(notes).toEqual([
      expect.stringContaining('- Found it; decided: stay; next: rest'),
      'Your scratchpad:\nLisbon',
      expect.stringMatching(/goals:\n- travel\nopen_threads:\n- when\?/),
    ]);
  });

  test('leaves the oldest out when there is too much, and says how much', () => {
    const history = Array.from({ length: 20 }, (_, i) => turn(100, i));
    const { messages, droppedCount } = compose({
      history,
      contextWindow: 4_000,
      outputTokens: 500,
      olderCount: 7,
    });
    const kept = messages.filter((message) => history.includes(message));
    expect(kept).toEqual(history.slice(-kept.length));
    expect(kept.length).toBeLessThan(20);
    expect(droppedCount).toBe(20 - kept.length + 7);
    expect(messages[1]).toMatchObject({
      role: 'system',
      content: expect.stringContaining(`${droppedCount} older messages`),
    });
  });

  test('keeps the last four rows however long they are', () => {
    const history = Array.from({ length: 6 }, (_, i) => turn(10_000, i));
    expect(compose({ history, contextWindow: 4_096 }).droppedCount).toBe(2);
  });

  test('fits its budget whatever the history is, but for the last four rows', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 800 }), { minLength: 5, maxLength: 40 }),
        fc.integer({ min: 8_192, max: 40_000 }),
        (lengths, contextWindow) => {
          const history = lengths.map(turn);
          const { messages, inputTokens } = compose({ history, contextWindow });
          expect(inputTokens).toBe(estimateMessagesTokens(messages));
          const kept = messages.filter((message) => history.includes(message));
          // The notice of what was left out is not counted: it is a sentence.
          if (kept.length > 4) expect(inputTokens).toBeLessThan(contextWindow - 4_096 - 2_000 + 50);
        },
      ),
    );
  });
});

describe('the history of a conversation', () => {
  const row = (role: string, content: string): Message => ({ role, content, timestamp: '', turn_index: 0 });

  test('is what the user and the assistant said; tools stay in the transcript', () => {
    const rows = [
      row('user', 'Where?'),
      row('tool_call', '{}'),
      row('tool_result', 'x'),
      row('assistant', ''),
      row('assistant', 'Lisbon.'),
    ];
    expect(historyOfRows(rows, 2)).toEqual([
      { role: 'user', content: 'Where?' },
      { role: 'assistant', content: 'Lisbon.' },
    ]);
  });

  test('names what came with a message, and has it again in the last turns', () => {
    const image = { workspace_id: 'ws_home', doc_id: 'doc_1', media_type: 'image/png' };
    const audio = { workspace_id: 'ws_home', doc_id: 'doc_2', transcript: 'Hello.' };
    const shown = (metadata: NonNullable<Message['metadata']>) => ({ ...row('user', 'Look'), metadata });
    const rows = [
      shown({ images: [image] }),
      shown({ images: [image], audio: [audio] }),
      shown({ steered: true }),
      shown({ images: [{ ...image, doc_id: 7 }, null, 'doc_3'], audio: 'none' }),
    ];
    const named = 'Look\n[Attached image: document_id doc_1, workspace_id ws_home, image/png]';
    const media = [{ kind: 'image', workspace_id: 'ws_home', document_id: 'doc_1' }];
    expect(historyOfRows(rows, 2)).toEqual([
      { role: 'user', content: named },
      {
        role: 'user',
        content: `${named}\n[Attached recording: document_id doc_2, workspace_id ws_home]\n[Transcript of the recording doc_2]\nHello.`,
        media,
      },
      { role: 'user', content: 'Look' },
      { role: 'user', content: 'Look' },
    ]);
    expect(historyOfRows(rows, 0).flatMap((message) => ('media' in message ? [message] : []))).toEqual([]);
  });

  test('of a session without memory is free of thoughts, whatever the user wrote', () => {
    const turns = [
      { role: 'user', content: 'What does <think> do?' },
      { role: 'assistant', content: '<think>Hm</think>It thinks.' },
    ] as const;
    expect(historyOfTurns(turns).map(({ content }) => content)).toEqual([
      'What does <think> do?',
      'It thinks.',
    ]);
  });
});

describe('the output budget', () => {
  test.each([
    ['is the limit of the model', 128_000, 8_192, 1_000, 8_192],
    ['is a default where no limit is known', 128_000, null, 1_000, 4_096],
    ['is bounded', 1_000_000, 500_000, 1_000, 32_768],
    ['gives way to a long input', 16_384, 8_192, 10_000, 4_384],
    ['leaves room for a useful answer', 16_384, 8_192, 16_000, 2_048],
    ['is never more than a small limit', 16_384, 512, 16_000, 512],
  ] as const)('%s', (_, contextWindow, limit, inputTokens, expected) => {
    expect(outputBudget(contextWindow, limit, inputTokens)).toBe(expected);
  });
});
