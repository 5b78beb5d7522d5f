import { expect, test } from 'vitest';
import { TOOL_OUTPUT_LIFETIME_MS, toolOutputs } from '../../../src/actors/tool-outputs/protocol.ts';
import { outputStore } from '../../../src/actors/tool-outputs/store.ts';
import { ManualClock } from '../../http/manual-clock.ts';
import { type EdgeActors, openEdgeActors } from '../../support/edge-actors.ts';

const keep = async (actors: EdgeActors, tool: string, content: string): Promise<string> => {
  const { key } = await actors.ask(toolOutputs, 'keep', { tool, tool_call_id: 'c1', content, kind: 'tool' });
  return key;
};
const toolsListed = async (actors: EdgeActors, pattern?: string): Promise<readonly string[]> => {
  const { outputs } = await actors.ask(toolOutputs, 'list', pattern === undefined ? {} : { pattern });
  return outputs.map((output) => output.tool);
};

test('a kept text is read whole, in slices, or by its metadata, under both sets of names', async () => {
  const actors = await openEdgeActors({ clock: new ManualClock() });
  const key = await keep(actors, 'web_extract', 'abcdefghij');
  expect(key).toMatch(/^web_extract_000000_[0-9a-f]{8}$/);
  const metadata = {
    storage_key: key,
    key,
    tool: 'web_extract',
    tool_name: 'web_extract',
    tool_call_id: 'c1',
    size: 10,
    size_chars: 10,
    created_at: '1970-01-01T00:00:00.000000+00:00',
    stored_at: '1970-01-01T00:00:00.000000+00:00',
  };
  expect(await actors.ask(toolOutputs, 'read', { storage_key: key })).toEqual({
    ...metadata,
    content: 'abcdefghij',
    offset: 0,
    limit: null,
    total_size: 10,
  });
  expect(await actors.ask(toolOutputs, 'read', { storage_key: key, offset: 2, limit: 3 })).toEqual({
    ...metadata,
    content: 'cde',
    offset: 2,
    limit: 3,
    total_size: 10,
  });
  expect(await actors.ask(toolOutputs, 'read', { storage_key: key, metadata_only: true })).toEqual(metadata);
});

test('outputs are listed newest first and filtered by tool', async () => {
  const clock = new ManualClock();
  const actors = await openEdgeActors({ clock });
  for (const tool of ['web_search', 'read_page', 'web_extract']) {
    await keep(actors, tool, tool);
    clock.advance(1_000);
  }
  expect(await toolsListed(actors)).toEqual(['web_extract', 'read_page', 'web_search']);
  expect(await toolsListed(actors, 'web_*')).toEqual(['web_extract', 'web_search']);
  expect(await toolsListed(actors, 'nothing')).toEqual([]);
  expect(await toolsListed(await actors.reopen())).toEqual(['web_extract', 'read_page', 'web_search']);
});

test('an output is gone after an hour, before any sweep', async () => {
  const clock = new ManualClock();
  const actors = await openEdgeActors({ clock });
  const key = await keep(actors, 'tool', 'text');
  const store = outputStore(actors.storage);
  expect(store.get(key, TOOL_OUTPUT_LIFETIME_MS - 1)).toBeDefined();
  expect(store.get(key, TOOL_OUTPUT_LIFETIME_MS)).toBeUndefined();
  expect([...store.list(TOOL_OUTPUT_LIFETIME_MS)]).toEqual([]);
  expect(store.content(key)).toBe('text');
});

test('the sweep removes what has expired, and keeps the rest', async () => {
  const clock = new ManualClock();
  const actors = await openEdgeActors({ clock });
  const old = await keep(actors, 'old', 'old');
  clock.advance(TOOL_OUTPUT_LIFETIME_MS / 2);
  const young = await keep(actors, 'young', 'young');
  clock.advance(TOOL_OUTPUT_LIFETIME_MS / 2);
  // One more message and the sweep that the clock started has written.
  await keep(actors, 'last', 'last');
  const store = outputStore(actors.storage);
  await expect.poll(() => store.content(old)).toBeUndefined();
  expect(store.content(young)).toBe('young');
});

test('a removed or unknown key is not found', async () => {
  const actors = await openEdgeActors();
  const key = await keep(actors, 'tool', 'text');
  expect(await actors.ask(toolOutputs, 'remove', { storage_key: key })).toEqual({ deleted: true, key });
  for (const storage_key of [key, 'unknown', '../../etc/passwd', '\u0000', '\ud800', 'x'.repeat(200)]) {
    const missing = { code: 'tool_output_not_found', kind: 'not_found' };
    await expect(actors.ask(toolOutputs, 'read', { storage_key })).rejects.toMatchObject(missing);
    await expect(actors.ask(toolOutputs, 'remove', { storage_key })).rejects.toMatchObject(missing);
  }
});

test('the same text kept twice in a second is one output', async () => {
  const actors = await openEdgeActors({ clock: new ManualClock() });
  expect(await keep(actors, 'tool', 'same')).toBe(await keep(actors, 'tool', 'same'));
  expect(await toolsListed(actors)).toEqual(['tool']);
});

test('a user message has a key of its own form', async () => {
  const actors = await openEdgeActors();
  const message = { tool: 'user_message', tool_call_id: '', content: 'long', kind: 'message' } as const;
  const { key } = await actors.ask(toolOutputs, 'keep', message);
  expect(key).toMatch(/^msg_\d{6}_[0-9a-f]{8}$/);
});

test('a text of any size and any characters comes back as it was', async () => {
  const actors = await openEdgeActors();
  const giant = 'Grüße 😀\u0000\n'.repeat(200_000);
  const { content } = await actors.ask(toolOutputs, 'read', {
    storage_key: await keep(actors, 'tool', giant),
  });
  expect(content === giant).toBe(true);
});

test('the oldest make room for a newcomer, by count and by size, and a text beyond the bound is cut', async () => {
  const { storage } = await openEdgeActors();
  const store = outputStore(storage, { outputsMax: 3, charsTotalMax: 1_000, outputCharsMax: 600 });
  const put = (key: string, content: string, storedAtMs: number) =>
    store.put({ key, tool: 't', toolCallId: '', storedAtMs }, content);
  const keys = () => [...store.list(10)].map((output) => output.key);

  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) await put(key, 'x', at);
  expect(keys()).toEqual(['d', 'c', 'b']);
  await put('e', 'y'.repeat(500), 5);
  await put('f', 'z'.repeat(500), 6);
  expect(keys()).toEqual(['f', 'e']);
  await put('e', 'short now', 7);
  await put('g', 'q'.repeat(5_000), 8);
  expect(store.content('g')).toMatch(/^q{600}\n\[cut here: 4400 more characters were not kept\]$/);
});
