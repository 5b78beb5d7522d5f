import { describe, expect, test, vi } from 'vitest';
import type { NewRow } from '../../../src/actors/conversations/protocol.ts';
import { CLEARED_PER_STEP_MAX } from '../../../src/actors/conversations/store.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import {
  type ConversationsDoor,
  openConversations,
  said,
  storedKeys,
  T0,
  turn,
} from '../../support/conversations.ts';

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

describe('the list', () => {
  test('shows the newest activity first, in pages, and counts all of them', async () => {
    const { ask, append } = await openConversations();
    for (let n = 0; n < 7; n += 1) await append(`c${n}`, `r${n}`, [said('user', `hello ${n}`, T0 + n)]);
    await append('c2', 'again', [said('user', 'me again', T0 + 100)]);

    const idsOf = async (page: { limit?: number; offset?: number }) =>
      (await ask('list', page)).conversations.map((row) => row.conversation_id);
    expect(await idsOf({})).toEqual(['c2', 'c6', 'c5', 'c4', 'c3', 'c1', 'c0']);
    expect(await idsOf({ limit: 3 })).toEqual(['c2', 'c6', 'c5']);
    expect(await idsOf({ limit: 3, offset: 5 })).toEqual(['c1', 'c0']);
    expect(await idsOf({ offset: 7 })).toEqual([]);
    expect(await idsOf({ offset: 1e12 })).toEqual([]);
    expect(await ask('list', { limit: 1, offset: 2 })).toMatchObject({ total: 7, limit: 1, offset: 2 });
    expect((await ask('list', { limit: 1 })).conversations[0]).toEqual({
      conversation_id: 'c2',
      title: 'hello 2',
      preview: 'me again',
      created_at: '2026-07-14T00:00:00.002000+00:00',
      last_message_at: '2026-07-14T00:00:00.100000+00:00',
      message_count: 2,
      channel: '_global',
      archived: false,
      first_user_message: 'hello 2',
      last_message: 'me again',
      workspace_id: null,
    });
  });

  test('shows archived ones only when asked, and one channel only when asked', async () => {
    const { ask, append } = await openConversations();
    for (let n = 0; n < 6; n += 1) {
      await append(`c${n}`, `r${n}`, [said('user', 'x', T0 + n)], n % 2 === 0 ? 'even' : 'odd');
    }
    for (const conversation_id of ['c0', 'c5']) await ask('update_meta', { conversation_id, archived: true });

    const list = async (filter: { channel?: string; include_archived?: string }) => {
      const { conversations, total } = await ask('list', filter);
      expect(total).toBe(conversations.length);
      return conversations.map((row) => row.conversation_id);
    };
    expect(await list({})).toEqual(['c4', 'c3', 'c2', 'c1']);
    expect(await list({ include_archived: '1' })).toEqual(['c5', 'c4', 'c3', 'c2', 'c1', 'c0']);
    expect(await list({ include_archived: 'false' })).toEqual(['c4', 'c3', 'c2', 'c1']);
    expect(await list({ channel: 'even' })).toEqual(['c4', 'c2']);
    expect(await list({ channel: 'even', include_archived: 'true' })).toEqual(['c4', 'c2', 'c0']);
    expect(await list({ channel: '_all' })).toEqual(['c4', 'c3', 'c2', 'c1']);
    for (const channel of ['none', 'eve', 'evens', '', 'x'.repeat(5000)])
      expect(await list({ channel })).toEqual([]);

    await ask('update_meta', { conversation_id: 'c5', archived: false });
    expect(await list({ channel: 'odd' })).toEqual(['c5', 'c3', 'c1']);
  });
});

describe('metadata', () => {
  test('is changed without touching transcript or place in the list, and the applied fields are answered', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('hello', 'good day'));
    const before = await ask('messages', { conversation_id: 'c1' });
    expect(await ask('update_meta', { conversation_id: 'c1', title: ' Greetings ' })).toEqual({
      conversation_id: 'c1',
      title: 'Greetings',
    });
    expect(await ask('update_meta', { conversation_id: 'c1', archived: true })).toEqual({
      conversation_id: 'c1',
      archived: true,
    });
    const [row] = (await ask('list', { include_archived: '1' })).conversations;
    expect(row).toMatchObject({ title: 'Greetings', archived: true, message_count: 2 });
    expect(await ask('messages', { conversation_id: 'c1' })).toEqual(before);
  });

  test('is refused when it is bad, and not found when the conversation is unknown', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('hello', 'good day'));
    await expect(ask('update_meta', { conversation_id: 'c1', title: '' })).rejects.toMatchObject(INVALID);
    await expect(ask('update_meta', { conversation_id: 'c1' })).rejects.toMatchObject(INVALID);
    await expect(ask('update_meta', { conversation_id: 'c2', title: 'x' })).rejects.toMatchObject(UNKNOWN);
  });
});

describe('search', () => {
  test('ranks what the user and the assistant said, across conversations', async () => {
    const { ask, append } = await openConversations();
    await append('pets', 'r1', turn('my cat is called Momo', 'A fine name for a cat.'));
    await append('food', 'r2', turn('what do I cook tonight?', 'Pasta with tomatoes and plenty of basil.'));
    await append('tools', 'r3', [
      { role: 'tool_result', content: 'cat cat cat', atMs: T0 },
      { role: 'user', content: 'cat report', atMs: T0, metadata: { work_order_report: true } } as const,
    ]);

    const { hits } = await ask('search_turns', { query: 'Momo the cat', limit: 10 });
    expect(hits.map((hit) => [hit.conversation_id, hit.turn_index, hit.role])).toEqual([
      ['pets', 0, 'user'],
      ['pets', 1, 'assistant'],
    ]);
    expect(hits[0]).toMatchObject({
      content: 'my cat is called Momo',
      timestamp: '2026-07-14T00:00:00.000000+00:00',
    });
    expect(hits[0]?.score).toBeGreaterThan(hits[1]?.score ?? Number.POSITIVE_INFINITY);
  });

  test('can be limited in number, to a conversation and to roles', async () => {
    const { ask, append } = await openConversations();
    for (let n = 0; n < 5; n += 1) await append(`c/${n}`, `r${n}`, turn(`garden ${n}`, `more garden ${n}`));
    const search = async (filter: object) =>
      (await ask('search_turns', { query: 'garden', limit: 100, ...filter })).hits.map(
        (hit) => `${hit.conversation_id} ${hit.role}`,
      );
    expect(await search({})).toHaveLength(10);
    expect(await search({ limit: 3 })).toHaveLength(3);
    expect((await search({ conversation_id: 'c/2' })).sort()).toEqual(['c/2 assistant', 'c/2 user']);
    expect(await search({ conversation_id: 'c/2', roles: ['user'] })).toEqual(['c/2 user']);
    expect(await search({ conversation_id: 'x'.repeat(5000) })).toEqual([]);
    expect(await search({ roles: [] })).toEqual([]);
  });

  test('without a query gives what the user said last', async () => {
    const { ask, append } = await openConversations();
    for (let n = 0; n < 6; n += 1) await append(`c${n % 2}`, `r${n}`, turn(`q${n}`, `a${n}`, T0 + 10 * n));
    const last = async (filter: object) =>
      (await ask('search_turns', { limit: 3, ...filter })).hits.map((hit) => hit.content);
    expect(await last({})).toEqual(['q5', 'q4', 'q3']);
    expect(await last({ query: '   ' })).toEqual(['q5', 'q4', 'q3']);
    expect(await last({ conversation_id: 'c0' })).toEqual(['q4', 'q2', 'q0']);
    expect(await last({ roles: ['user', 'assistant'] })).toEqual(['a5', 'q5', 'a4']);
    expect(await last({ conversation_id: 'c1', roles: ['assistant'], limit: 2 })).toEqual(['a5', 'a3']);
    expect(await last({ conversation_id: 'nobody' })).toEqual([]);
  });
});

describe('working memory', () => {
  const EMPTY = { goals: [], decisions: [], open_threads: [], artifacts: [], narrative: [], digest: '' };

  test('is empty for an unknown conversation', async () => {
    const { ask } = await openConversations();
    expect(await ask('state', { conversation_id: 'nobody' })).toEqual({
      conversation_id: 'nobody',
      state: EMPTY,
    });
    expect(await ask('checkpoints', { conversation_id: 'nobody' })).toEqual({ checkpoints: [], count: 0 });
    expect(await ask('clear_checkpoints', { conversation_id: 'nobody' })).toEqual({ cleared: 0 });
    expect(await ask('scratchpad', { conversation_id: 'nobody', replace: false })).toEqual({ text: '' });
  });

  test('has slots that the user replaces and the agent adds to', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('a', 'b'));
    await ask('note_state', { conversation_id: 'c1', slot: 'goals', entries: ['ship'], replace: false });
    const noted = await ask('note_state', {
      conversation_id: 'c1',
      slot: 'goals',
      entries: ['test'],
      replace: false,
    });
    expect(noted.goals.map((entry) => [entry.text, entry.author, entry.source_turn])).toEqual([
      ['ship', 'agent', 2],
      ['test', 'agent', 2],
    ]);
    const { state } = await ask('set_state', { conversation_id: 'c1', slot: 'goals', entries: ['rest'] });
    expect(state.goals).toMatchObject([{ text: 'rest', author: 'user', source_turn: null }]);
    expect((await ask('state', { conversation_id: 'c1' })).state).toEqual(state);
  });

  test('refuses an unknown slot', async () => {
    const { ask } = await openConversations();
    const edit = ask('set_state', { conversation_id: 'c1', slot: 'digest', entries: [] });
    await expect(edit).rejects.toMatchObject(INVALID);
  });

  test('loses no note of many that overlap', async () => {
    const { ask } = await openConversations();
    const notes = Array.from({ length: 20 }, (_, n) =>
      ask('note_state', { conversation_id: 'c1', slot: 'decisions', entries: [`d${n}`], replace: false }),
    );
    await Promise.all(notes);
    expect((await ask('state', { conversation_id: 'c1' })).state.decisions).toHaveLength(20);
  });

  test('keeps checkpoints, counts them and forgets them', async () => {
    const { ask } = await openConversations();
    const add = (summary: string, replace = false) =>
      ask('add_checkpoint', { conversation_id: 'c1', summary, decisions: ['d'], next_step: 'n', replace });
    expect(await add('one')).toEqual({ count: 1 });
    expect(await add('two')).toEqual({ count: 2 });
    const { checkpoints, count } = await ask('checkpoints', { conversation_id: 'c1' });
    expect(checkpoints.map((checkpoint) => checkpoint.summary)).toEqual(['one', 'two']);
    expect(count).toBe(2);
    expect(await add('three', true)).toEqual({ count: 1 });
    expect(await ask('clear_checkpoints', { conversation_id: 'c1' })).toEqual({ cleared: 1 });
    expect(await ask('checkpoints', { conversation_id: 'c1' })).toEqual({ checkpoints: [], count: 0 });
  });

  test('has a scratchpad to add to, replace and read', async () => {
    const { ask } = await openConversations();
    const pad = (note?: string, replace = false) =>
      ask('scratchpad', { conversation_id: 'c1', replace, ...(note === undefined ? {} : { note }) });
    await pad('one');
    expect(await pad('two')).toEqual({ text: 'one\ntwo' });
    expect(await pad()).toEqual({ text: 'one\ntwo' });
    expect(await pad('three', true)).toEqual({ text: 'three' });
  });
});

describe('a deletion', () => {
  test('answers what it deleted, and an unknown id answers zeros', async () => {
    const { ask, append } = await openConversations();
    await append('c1', 'r1', turn('a', 'b'));
    await ask('set_state', { conversation_id: 'c1', slot: 'goals', entries: ['g'] });
    expect((await ask('remove', { conversation_id: 'c1' })).deleted).toEqual({
      turns: 2,
      conversation: 1,
      postgres_rows: 3,
      redis_keys: 1,
      sidecars: ['state'],
    });
    for (const conversation_id of ['c1', 'nobody', 'x'.repeat(5000)]) {
      expect((await ask('remove', { conversation_id })).deleted).toEqual({
        turns: 0,
        conversation: 0,
        postgres_rows: 0,
        redis_keys: 0,
        sidecars: [],
      });
    }
    await expect(ask('messages', { conversation_id: 'c1' })).rejects.toMatchObject(UNKNOWN);
  });

  test('leaves nothing behind in any table, index or text, and others as they were', async () => {
    const before = await openConversations();
    await before.append('kept', 'r0', turn('garden', 'flowers'));
    await before.close();
    const keys = await storedKeys(before.directory);

    const { ask, append, close } = await before.reopen();
    for (let run = 0; run < 3; run += 1) {
      const rows = Array.from({ length: CLEARED_PER_STEP_MAX - 50 }, (_, n) =>
        said('user', `garden number ${n}`),
      );
      await append('long', `r${run}`, rows, 'other');
    }
    await ask('set_state', { conversation_id: 'long', slot: 'goals', entries: ['g'] });
    await ask('scratchpad', { conversation_id: 'long', note: 'n', replace: false });
    await ask('remove', { conversation_id: 'long' });
    const { hits } = await ask('search_turns', { query: 'garden', limit: 10 });
    expect(hits.map((hit) => hit.conversation_id)).toEqual(['kept']);
    await close();
    expect(await storedKeys(before.directory)).toEqual(keys);
  });

  test('is over at once for readers, and an append meanwhile begins anew', async () => {
    const fresh = await openConversations();
    await fresh.close();
    const keys = await storedKeys(fresh.directory);

    const { ask, append, close } = await fresh.reopen();
    await append('c1', 'r1', oldRows(5 * CLEARED_PER_STEP_MAX));
    const removing = ask('remove', { conversation_id: 'c1' });
    expect(await append('c1', 'r1', turn('new beginning', 'indeed'))).toBe(0);
    const { messages } = await ask('messages', { conversation_id: 'c1' });
    expect(messages.map((row) => row.content)).toEqual(['new beginning', 'indeed']);
    expect((await ask('search_turns', { query: 'old', limit: 5, conversation_id: 'c1' })).hits).toEqual([]);
    expect((await ask('search_turns', { limit: 5 })).hits.map((hit) => hit.content)).toEqual([
      'new beginning',
    ]);

    await removing;
    expect((await ask('messages', { conversation_id: 'c1' })).message_count).toBe(2);
    await ask('remove', { conversation_id: 'c1' });
    await close();
    expect(await storedKeys(fresh.directory)).toEqual(keys);
  });

  test('that was cut short goes on after the next start', async () => {
    const first = await openConversations();
    await first.append('kept', 'r0', turn('garden', 'flowers'));
    await first.close();
    const keys = await storedKeys(first.directory);

    const second = await first.reopen();
    await second.append('c1', 'r1', oldRows(5 * CLEARED_PER_STEP_MAX));
    const removing = second.ask('remove', { conversation_id: 'c1' });
    // Committed with the deletion's first step, or right after it.
    await second.ask('update_meta', { conversation_id: 'kept', archived: false });
    await Promise.all([second.close(), expect(removing).rejects.toMatchObject({ retryable: true })]);
    expect((await storedKeys(first.directory)).length).toBeGreaterThan(keys.length + CLEARED_PER_STEP_MAX);

    const third = await second.reopen();
    await expect(third.ask('messages', { conversation_id: 'c1' })).rejects.toMatchObject(UNKNOWN);
    const removals = third.storage.table({ name: 'conversation_removals' });
    await vi.waitUntil(() => removals.count() === 0);
    await third.close();
    expect(await storedKeys(first.directory)).toEqual(keys);
  });
});

test('everything is there again after a restart', async () => {
  const before = await openConversations();
  await before.append('c1', 'r1', turn('my cat is called Momo', 'A fine name.'));
  await before.append('c2', 'r2', turn('hello', 'good day'), 'other');
  await before.ask('update_meta', { conversation_id: 'c1', title: 'Pets', archived: true });
  await before.ask('note_state', {
    conversation_id: 'c1',
    slot: 'goals',
    entries: ['feed it'],
    replace: false,
  });
  await before.ask('scratchpad', { conversation_id: 'c1', note: 'note', replace: false });
  const everything = async ({ ask }: ConversationsDoor) => ({
    list: await ask('list', { include_archived: '1' }),
    channel: await ask('list', { channel: 'other' }),
    messages: await ask('messages', { conversation_id: 'c1' }),
    state: await ask('state', { conversation_id: 'c1' }),
    scratchpad: await ask('scratchpad', { conversation_id: 'c1', replace: false }),
    hits: await ask('search_turns', { query: 'momo', limit: 3 }),
    last: await ask('search_turns', { limit: 3 }),
  });
  const known = await everything(before);
  expect(known.hits.hits).toHaveLength(1);

  const after = await before.reopen();
  expect(await everything(after)).toEqual(known);
  expect(await after.append('c1', 'r1', turn('my cat is called Momo', 'A fine name.'))).toBe(0);
  expect(await after.append('c1', 'r3', turn('and the dog?', 'Unnamed.'))).toBe(2);
});

function oldRows(count: number): NewRow[] {
  return Array.from({ length: count }, (_, n) => said('user', `old words ${n}`));
}
