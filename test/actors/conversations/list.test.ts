import { describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/contract.ts';
import { openConversations, said, T0, turn } from '../../support/conversations.ts';

const UNKNOWN = { code: 'conversation_not_found', kind: 'not_found' };
const INVALID = { code: 'conversation_invalid', kind: 'invalid' };

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

test('a change that storage cannot take now is answered as not saved, to be tried again', async () => {
  const { ask, append, storage } = await openConversations();
  await append('c1', 'r1', turn('hello', 'good day'));
  const change = ask('update_meta', { conversation_id: 'c1', title: 'x' });
  const flood = floodWrites(storage);
  await expect(change).rejects.toMatchObject({
    code: 'conversation_not_saved',
    kind: 'unavailable',
    retryable: true,
  });
  await flood;
  expect(await ask('update_meta', { conversation_id: 'c1', title: 'x' })).toMatchObject({ title: 'x' });
});

/** More writes than storage lets wait; the ones that are refused are as they should be. */
async function floodWrites(storage: Storage): Promise<void> {
  const numbers = storage.table<number>({ name: 'flood' });
  const writes = Array.from({ length: 25_000 }, (_, n) =>
    storage.write('committed', (tx) => tx.put(numbers, n % 256, n)),
  );
  await Promise.allSettled(writes);
}
