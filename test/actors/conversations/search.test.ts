import { describe, expect, test } from 'vitest';
import { openConversations, T0, turn } from '../../support/conversations.ts';

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
