import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import { openConversations, said, T0, turn } from '../../support/conversations.ts';

const UNKNOWN = { code: 'conversation_not_found', kind: 'not_found' };
const INVALID = { code: 'conversation_invalid', kind: 'invalid' };

describe('a transcript', () => {
  test('keeps the rows of a turn in order, tool rows and metadata included', async () => {
    const { ask, append } = await openConversations();
    const first = await append('c1', 'r1', [
      said('user', 'what is new?'),
      {
        role: 'tool_call',
        content: '{"query":"news"}',
        atMs: T0 + 1,
        metadata: { tool: 'search', tool_call_id: 't1' },
      },
      { role: 'tool_result', content: 'nothing', atMs: T0 + 2, metadata: { tool: 'search', success: true } },
      said('assistant', 'Nothing is new.', T0 + 3),
    ]);
    const second = await append('c1', 'r2', turn('and now?', 'Still nothing.'));

    expect([first, second]).toEqual([0, 4]);
    const { messages, message_count } = await ask('messages', { conversation_id: 'c1' });
    expect(message_count).toBe(6);
    expect(messages.map((row) => [row.turn_index, row.role, row.content])).toEqual([
      [0, 'user', 'what is new?'],
      [1, 'tool_call', '{"query":"news"}'],
      [2, 'tool_result', 'nothing'],
      [3, 'assistant', 'Nothing is new.'],
      [4, 'user', 'and now?'],
      [5, 'assistant', 'Still nothing.'],
    ]);
    expect(messages[1]).toEqual({
      role: 'tool_call',
      content: '{"query":"news"}',
      timestamp: '2026-07-14T00:00:00.001000+00:00',
      turn_index: 1,
      metadata: { tool: 'search', tool_call_id: 't1' },
    });
    expect(messages[0]).not.toHaveProperty('metadata');
  });

  test('does not change when a run is appended a second time', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('a', 'b'));
    await append('c1', 'r2', turn('c', 'd'));
    expect(await append('c1', 'r1', turn('a', 'b'))).toBe(0);
    expect(await append('c1', 'r2', turn('quite', 'different'))).toBe(2);
    expect((await ask('messages', { conversation_id: 'c1' })).messages).toHaveLength(4);
    expect((await ask('search_turns', { query: 'different', limit: 5 })).hits).toEqual([]);
  });

  test('of an unknown conversation is not found, whatever the id', async () => {
    const { ask } = await openConversations();
    for (const conversation_id of ['nobody', '', 'x'.repeat(5000), '\ud800']) {
      await expect(ask('messages', { conversation_id })).rejects.toMatchObject(UNKNOWN);
      expect(await ask('history', { conversation_id, rowsMax: 10 })).toEqual({ rows: [], olderCount: 0 });
    }
  });

  test('gives its newest rows as history and counts the older ones', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('a', 'b'));
    await append('c1', 'r2', turn('c', 'd'));
    const { rows, olderCount } = await ask('history', { conversation_id: 'c1', rowsMax: 3 });
    expect(rows.map((row) => row.content)).toEqual(['b', 'c', 'd']);
    expect(olderCount).toBe(1);
  });

  test('has no gap and no half turn after a hundred appends that overlap', async () => {
    const { ask, append } = await openConversations();
    const random = seededRandom(7);
    const appends = Array.from({ length: 100 }, (_, n) => {
      const filler = Array.from({ length: Math.floor(random.float() * 4) }, () =>
        said('assistant', `run ${n}`),
      );
      return append(`c${n % 10}`, `r${n}`, [said('user', `run ${n}`), ...filler]);
    });
    await Promise.all(appends);

    for (let n = 0; n < 10; n += 1) {
      const { messages, message_count } = await ask('messages', { conversation_id: `c${n}` });
      expect(messages.map((row) => row.turn_index)).toEqual(messages.map((_, index) => index));
      expect(message_count).toBe(messages.length);
      // Rows of one run stand side by side: every user row begins a run of equal contents.
      const runs = messages
        .map((row) => row.content)
        .filter((content, index, all) => content !== all[index - 1]);
      expect(new Set(runs).size).toBe(10);
      expect(runs).toHaveLength(10);
    }
    expect((await ask('list', {})).total).toBe(10);
  });

  test('takes any text, half characters and all', async () => {
    const { ask, append } = await openConversations();
    const odd = ['\0', '\ud83d half', '', 'x'.repeat(3_000_000), '👩‍👩‍👧 𝔘𝔫𝔦𝔠𝔬𝔡𝔢'];
    await append(
      'c/1 \0é',
      'r1',
      odd.map((content) => said('user', content)),
    );
    const { messages } = await ask('messages', { conversation_id: 'c/1 \0é' });
    expect(messages.map((row) => row.content)).toEqual(odd.map((content) => content.toWellFormed()));
    const { hits } = await ask('search_turns', { query: 'half', limit: 3 });
    expect(hits.map((hit) => [hit.conversation_id, hit.turn_index])).toEqual([['c/1 \0é', 1]]);
  });

  test('refuses what no run should send, and an append of nothing makes nothing', async () => {
    const { ask, append } = await openConversations();
    await expect(append('x'.repeat(129), 'r1', turn('a', 'b'))).rejects.toMatchObject(INVALID);
    await expect(append('c1', 'r1', Array(2001).fill(said('user', 'a')))).rejects.toMatchObject(INVALID);
    await expect(append('c1', 'r1', turn('a', 'b'), 'y'.repeat(129))).rejects.toMatchObject(INVALID);
    expect(await append('c1', 'r1', [])).toBe(0);
    expect(await ask('list', {})).toEqual({ conversations: [], total: 0, limit: 50, offset: 0 });
  });
});
