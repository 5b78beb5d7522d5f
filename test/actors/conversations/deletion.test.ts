import { describe, expect, test } from 'vitest';
import { conversations, type NewRow } from '../../../src/actors/conversations/protocol.ts';
import { CLEARED_PER_STEP_MAX } from '../../../src/actors/conversations/store.ts';
import { workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { storageFaults } from '../../../src/storage/faults.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { openConversations, said, storedKeys, T0, turn } from '../../support/conversations.ts';
import { eventually } from '../../support/eventually.ts';
import { tampered, unflushableDisk } from '../../support/tampered-storage.ts';

const UNKNOWN = { code: 'conversation_not_found', kind: 'not_found' };

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

  test('that is committed and fails to be flushed leaves nothing behind either', async () => {
    const disk = unflushableDisk('conversation_removals');
    const { ask, append, storage } = await openConversations({ storage: disk.storage });
    await append('c1', 'r1', turn('garden', 'flowers'));
    disk.failures = 1;
    await expect(ask('remove', { conversation_id: 'c1' })).rejects.toMatchObject({
      code: 'conversation_not_saved',
    });
    await eventually(() => [...storage.table({ name: 'conversation_removals' }).range()]).toEqual([]);
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

  test('of a long conversation answers before all is cleared, which then goes on by itself', async () => {
    const { ask, append, storage } = await openConversations();
    const results = Array.from({ length: 1500 }, (_, n) => ({
      role: 'tool_result' as const,
      content: 'x',
      atMs: T0 + n,
    }));
    await append('c1', 'r1', results);
    await append('c1', 'r2', results);
    const removals = storage.table({ name: 'conversation_removals' });
    const { deleted } = await ask('remove', { conversation_id: 'c1' });
    expect(deleted.turns).toBe(3000);
    expect(removals.count()).toBe(1);
    await eventually(() => removals.count()).toBe(0);
    expect(storage.table({ name: 'conversation_rows' }).count()).toBe(0);
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
    await eventually(() => removals.count()).toBe(0);
    await third.close();
    expect(await storedKeys(first.directory)).toEqual(keys);
  });

  test('that is taken up again takes nothing of a conversation that has begun anew meanwhile', async () => {
    const clock = new ManualClock();
    const gate = new WriteGate();
    const { ask, append, system, storage } = await openConversations({ clock, storage: gate.storage });
    const projects = system.named(workspaces);
    const { workspace } = await projects.ask('create', { user_id: 'ada', name: 'Garden' });
    await append('a', 'r1', turn('old', 'indeed'));
    await append('x', 'r2', turn('old', 'indeed'));

    gate.isOpen = false;
    const removingA = ask('remove', { conversation_id: 'a' });
    (await gate.next()).pass();
    (await gate.next()).fail();
    await removingA;
    const patience = { deadlineMs: 600_000 };
    const removingX = system.named(conversations).ask('remove', { conversation_id: 'x' }, patience);
    (await gate.next()).pass();
    (await gate.next()).pass();
    const clearingX = await gate.next();
    // Both are left to be cleared now: x comes behind a, though somebody clears it already.
    await clock.advance(60_000);
    const clearingA = await gate.next();
    clearingX.pass();
    await removingX;
    gate.isOpen = true;
    await append('x', 'r3', turn('new', 'beginning'));
    const named = { user_id: 'ada', conversation_id: 'x', workspace_id: workspace.id };
    await projects.ask('resolveProject', named);
    clearingA.pass();
    const removals = storage.table({ name: 'conversation_removals' });
    await eventually(() => removals.count()).toBe(0);
    // Behind whatever is still being cleared.
    for (let more = 0; more < 20; more += 1) await append('other', `r${more + 4}`, turn('more', 'of it'));

    const { messages } = await ask('messages', { conversation_id: 'x' });
    expect(messages.map(({ content }) => content)).toEqual(['new', 'beginning']);
    const list = await ask('list', {});
    const listed = list.conversations.find(({ conversation_id }) => conversation_id === 'x');
    expect(listed?.workspace_id).toBe(workspace.id);
  });
});

interface HeldWrite {
  readonly pass: () => void;
  readonly fail: () => void;
}

/** Holds each write up until the test says what becomes of it. */
class WriteGate {
  isOpen = true;
  readonly #held: HeldWrite[] = [];

  readonly storage = tampered({
    write: async () => {
      if (this.isOpen) return;
      await new Promise<void>((pass, reject) => {
        this.#held.push({ pass, fail: () => reject(storageFaults.storage_full('the disk is full')) });
      });
    },
  });

  async next(): Promise<HeldWrite> {
    await eventually(() => this.#held.length).toBeGreaterThan(0);
    return this.#held.shift() as HeldWrite;
  }
}

function oldRows(count: number): NewRow[] {
  return Array.from({ length: count }, (_, n) => said('user', `old words ${n}`));
}
