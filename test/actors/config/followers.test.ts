import { expect, test } from 'vitest';
import { createFollowers } from '../../../src/actors/config/followers.ts';

test('a follower hears what is changed while it waits', async () => {
  const followers = createFollowers();
  const changes = followers.follow(new AbortController().signal);
  const next = changes.next();
  followers.publish(['chat.max_tool_rounds']);
  expect(await next).toEqual({ done: false, value: ['chat.max_tool_rounds'] });
});

test('what a busy follower missed comes at once, each key once', async () => {
  const followers = createFollowers();
  const changes = followers.follow(new AbortController().signal);
  const first = changes.next();
  followers.publish(['llm_settings.top_p']);
  await first;
  followers.publish(['llm_settings.top_p', 'chat.max_tool_rounds']);
  followers.publish(['llm_settings.top_p']);
  expect((await changes.next()).value).toEqual(['llm_settings.top_p', 'chat.max_tool_rounds']);
});

test('a follower that leaves is done, and hears nothing more', async () => {
  const followers = createFollowers();
  const leaving = new AbortController();
  const changes = followers.follow(leaving.signal);
  const next = changes.next();
  leaving.abort();
  expect((await next).done).toBe(true);
  followers.publish(['llm_settings.top_p']);
  expect((await changes.next()).done).toBe(true);
});
