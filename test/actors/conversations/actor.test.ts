import { describe, expect, test } from 'vitest';
import { type ConversationsDoor, openConversations, turn } from '../../support/conversations.ts';

const INVALID = { code: 'conversation_invalid', kind: 'invalid' };

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
