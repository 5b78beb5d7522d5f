import { expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { conversations, type NewRow } from '../../../src/actors/conversations/protocol.ts';
import { TOOL_RESULT_INLINE_CHARS_MAX, toolOutputs } from '../../../src/actors/tool-outputs/protocol.ts';
import { type ToolResult, tools } from '../../../src/actors/tools/protocol.ts';
import { ManualClock } from '../../http/manual-clock.ts';
import { type EdgeActors, openEdgeActors } from '../../support/edge-actors.ts';

const DURABLE = ['checkpoint', 'scratchpad_note', 'update_conversation_state'];

interface CallOptions {
  readonly conversation?: string;
  readonly durable?: boolean;
}

const call = (
  actors: EdgeActors,
  tool: string,
  args: Record<string, unknown> = {},
  { conversation = 'here', durable = true }: CallOptions = {},
): Promise<ToolResult> =>
  actors.ask(tools, 'call', {
    tool,
    tool_call_id: 'call_1',
    arguments: args,
    caller: { run_id: 'r1', conversation_id: conversation, user_id: 'default', durable },
  });

/** The members of a JSON result that must have succeeded. */
const answer = async (...given: Parameters<typeof call>): Promise<Record<string, unknown>> => {
  const result = await call(...given);
  expect(result, result.content).toMatchObject({ success: true });
  return JSON.parse(result.content);
};

const error = async (...given: Parameters<typeof call>): Promise<string> => {
  const result = await call(...given);
  expect(result).toMatchObject({ success: false, content: expect.stringMatching(/^\{"error":/) });
  return JSON.parse(result.content).error;
};

const keep = async (actors: EdgeActors, content: string): Promise<string> => {
  const output = { tool: 'web_extract', tool_call_id: 'c', content, kind: 'tool' } as const;
  return (await actors.ask(toolOutputs, 'keep', output)).key;
};

const say = (actors: EdgeActors, conversation_id: string, texts: readonly string[]) =>
  actors.ask(conversations, 'append', {
    conversation_id,
    run_id: `run-${conversation_id}`,
    channel: '_global',
    rows: texts.map(
      (content, at): NewRow => ({ role: at % 2 === 0 ? 'user' : 'assistant', content, atMs: 1_000 + at }),
    ),
  });

const offered = async (actors: EdgeActors, durable: boolean): Promise<readonly string[]> =>
  (await actors.ask(tools, 'list', { durable })).tools.map((tool) => tool.name);

test('an ephemeral turn is offered no tool that leaves something behind', async () => {
  const actors = await openEdgeActors();
  expect(await offered(actors, true)).toEqual(expect.arrayContaining([...DURABLE, 'read_thread']));
  expect(await offered(actors, false)).toEqual(
    (await offered(actors, true)).filter((name) => !DURABLE.includes(name)),
  );
});

test('a list that the asker has is not sent again, and one that has changed is', async () => {
  const actors = await openEdgeActors();
  const offer = (known: string, durable = true) => actors.ask(tools, 'offer', { durable, known });
  const first = await offer('');
  expect(first.tools?.map(({ name }) => name)).toEqual(await offered(actors, true));
  expect(await offer(first.version)).toEqual({ version: first.version, tools: null, loaded: [] });
  expect((await offer(first.version, false)).tools?.length).toBe((await offered(actors, false)).length);
  await actors.ask(config, 'update', { context: { conversation_state_enabled: false } });
  const changed = await offer(first.version);
  expect(changed.tools?.map(({ name }) => name)).toEqual(await offered(actors, true));
  expect(changed.version).not.toBe(first.version);
});

test('a setting takes the state tool from the list at once, and it stays callable', async () => {
  const actors = await openEdgeActors();
  await actors.ask(config, 'update', { context: { conversation_state_enabled: false } });
  expect(await offered(actors, true)).not.toContain('update_conversation_state');
  expect(await answer(actors, 'update_conversation_state', { slot: 'goals', entries: ['a'] })).toMatchObject({
    status: 'saved',
  });
});

test('an ephemeral turn that calls such a tool anyway is refused', async () => {
  const actors = await openEdgeActors();
  expect(await error(actors, 'checkpoint', { summary: 'x' }, { durable: false })).toContain('not remembered');
  expect(await actors.ask(conversations, 'checkpoints', { conversation_id: 'here' })).toMatchObject({
    count: 0,
  });
});

test('an unknown tool is an answer that names the known ones', async () => {
  const actors = await openEdgeActors();
  expect(await error(actors, 'rm_rf')).toContain('read_thread');
  expect(await error(actors, 'constructor')).toContain('There is no tool');
  expect((await error(actors, 'x'.repeat(100_000))).length).toBeLessThan(1_000);
});

test('bad arguments are an answer that says what is wrong', async () => {
  const actors = await openEdgeActors();
  expect(await error(actors, 'read_stored_output', {})).toMatch(
    /Bad arguments for read_stored_output: .*key/,
  );
  expect(await error(actors, 'read_stored_output', { key: 'k', offset: -1 })).toContain('offset');
  expect(await error(actors, 'checkpoint', { summary: 'x'.repeat(100_000) })).toContain('summary');
});

test('hostile arguments never break the actor', async () => {
  const actors = await openEdgeActors();
  const hostile: unknown[] = [
    null,
    'x'.repeat(50_000),
    '\u0000',
    '\ud800',
    -1,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    {},
    { $ne: null },
    JSON.parse('{"__proto__":{"polluted":true}}'),
    '../../etc/passwd',
  ];
  const names = await offered(actors, true);
  const members = [
    'key',
    'query',
    'jsonpath',
    'section',
    'pattern',
    'conversation_id',
    'center_turn',
    'topic',
    'slot',
    'entries',
    'elements',
    'summary',
    'note',
    'limit',
  ];
  for (const value of hostile) {
    const args = Object.fromEntries(members.map((member) => [member, value]));
    const results = await Promise.all(names.map((name) => call(actors, name, args)));
    for (const result of results) expect(result.content.length).toBeLessThan(20_000);
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(await offered(actors, true)).toEqual(names);
});

test('read_thread reads the newest turns of this conversation, or those around one of another', async () => {
  const actors = await openEdgeActors();
  await say(actors, 'here', ['hello', 'hi']);
  await say(
    actors,
    'there',
    Array.from({ length: 60 }, (_, at) => `row ${at}`),
  );

  const current = await answer(actors, 'read_thread', { conversation_id: 'current' });
  expect(current).toMatchObject({
    conversation_id: 'here',
    total_turns: 2,
    turns: [{ content: 'hello' }, { content: 'hi' }],
  });

  const around = await answer(actors, 'read_thread', { conversation_id: 'there', center_turn: '30' });
  const indexes = (around.turns as { turn_index: number }[]).map((turn) => turn.turn_index);
  expect(indexes).toHaveLength(17);
  expect(indexes).toContain(30);
  const newest = await answer(actors, 'read_thread', { conversation_id: 'there' });
  expect(newest).toMatchObject({ total_turns: 60 });
  expect(JSON.stringify(newest)).toContain('row 59');

  expect(await error(actors, 'read_thread', { conversation_id: 'nowhere' })).toContain('nowhere');
  expect(await error(actors, 'read_thread', { conversation_id: 'nowhere', center_turn: 1 })).not.toBe('');
  expect(await error(actors, 'read_thread', { conversation_id: 'there', center_turn: 4_000 })).toContain(
    'no such turns',
  );
});

test('read_thread bounds its answer, whatever was said', async () => {
  const actors = await openEdgeActors();
  await say(
    actors,
    'here',
    Array.from({ length: 40 }, () => '"'.repeat(20_000)),
  );
  const result = await call(actors, 'read_thread', { conversation_id: 'current' });
  expect(result.success).toBe(true);
  expect(result.content.length).toBeLessThanOrEqual(TOOL_RESULT_INLINE_CHARS_MAX);
});

test('recall_user_history finds what the user said by its words, or the newest of it', async () => {
  const actors = await openEdgeActors();
  await say(actors, 'past', ['I keep bees in Lisbon', 'Bees, how nice', 'and two cats', 'Cats too']);
  const found = await answer(actors, 'recall_user_history', { topic: 'bees' });
  expect(found).toMatchObject({ count: 1, turns: [{ conversation_id: 'past', turn_index: 0 }] });
  const newest = await answer(actors, 'recall_user_history', { topic: ' ' });
  expect(newest).toMatchObject({ topic: null, count: 2 });
  expect(await answer(actors, 'recall_user_history', { topic: 'zeppelin' })).toMatchObject({ count: 0 });
});

test('a stored output is read page by page to its end', async () => {
  const actors = await openEdgeActors();
  const text = Array.from({ length: 3_000 }, (_, at) => `line ${at} 😀`).join('\n');
  const key = await keep(actors, text);
  let read = '';
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { content, success } = await call(actors, 'read_stored_output', { key, offset });
    expect(success).toBe(true);
    const [header = ''] = content.split('\n', 1);
    read += content.slice(header.length + 1);
    const next = /go on with offset (\d+)/.exec(header)?.[1];
    offset = next === undefined ? undefined : Number(next);
  }
  expect(read === text).toBe(true);
  expect(await error(actors, 'read_stored_output', { key, offset: text.length + 1 })).toContain('beyond');
});

test('a stored text that looks like an error is no failure to read it', async () => {
  const actors = await openEdgeActors();
  const key = await keep(actors, 'Error: what the page said');
  expect(await call(actors, 'read_stored_output', { key })).toMatchObject({ success: true });
});

test('every reading tool says that a key is unknown', async () => {
  const actors = await openEdgeActors();
  const key = 'gone_000000_00000000';
  const calls: [string, object][] = [
    ['read_stored_output', {}],
    ['read_user_message', {}],
    ['tool_output_query', { query: 'x' }],
    ['tool_output_section', {}],
    ['tool_output_path', { jsonpath: '$' }],
  ];
  for (const [tool, args] of calls)
    expect(await error(actors, tool, { key, ...args })).toContain('no stored output');
});

test('passages, sections and paths of a stored output', async () => {
  const actors = await openEdgeActors();
  const page = await keep(actors, `# Bees\n${'They hum. '.repeat(200)}\n# Cats\nThe cat is called Mia.\n`);
  const found = await answer(actors, 'tool_output_query', { key: page, query: 'who is Mia', top_k: 1 });
  expect(found).toMatchObject({ passages: [{ text: expect.stringContaining('Mia') }] });
  expect(await answer(actors, 'tool_output_query', { key: page, query: 'zeppelin' })).toMatchObject({
    passages: [],
  });

  expect(await answer(actors, 'tool_output_section', { key: page })).toMatchObject({
    sections: [{ name: 'Bees' }, { name: 'Cats' }],
  });
  expect((await call(actors, 'tool_output_section', { key: page, section: 'cats' })).content).toContain(
    'Mia',
  );
  expect(await error(actors, 'tool_output_section', { key: page, section: 'dogs' })).toContain('Bees, Cats');

  const json = await keep(actors, JSON.stringify({ items: [{ n: 1 }, { n: 2 }] }));
  const selected = await call(actors, 'tool_output_path', { key: json, jsonpath: '$.items[?(@.n > 1)]' });
  expect(selected.content).toBe(`[${json}: 1 matches]\n{"n":2}`);
  expect(await error(actors, 'tool_output_path', { key: json, jsonpath: '$[?(process.exit(1))]' })).toContain(
    'JSON path',
  );
  expect(await error(actors, 'tool_output_path', { key: page, jsonpath: '$' })).toContain('not JSON');
});

test('giant stored outputs are answered within bounds', async () => {
  const actors = await openEdgeActors();
  const giant = await keep(actors, 'x'.repeat(9 * 1024 * 1024));
  const json = await keep(
    actors,
    JSON.stringify({ rows: Array.from({ length: 200_000 }, (_, id) => ({ id })) }),
  );
  const calls: [string, object][] = [
    ['read_stored_output', { key: giant }],
    ['tool_output_query', { key: giant, query: 'x' }],
    ['tool_output_section', { key: giant }],
    ['tool_output_path', { key: json, jsonpath: '$' }],
    ['tool_output_path', { key: json, jsonpath: '$..id' }],
    ['tool_output_path', { key: json, jsonpath: '$..*..*..*' }],
  ];
  for (const [tool, args] of calls) {
    const { content } = await call(actors, tool, { ...args });
    expect(content.length).toBeLessThan(TOOL_RESULT_INLINE_CHARS_MAX + 500);
  }
});

test('a checkpoint, a note and the state belong to the conversation of the caller', async () => {
  const actors = await openEdgeActors();
  expect(await answer(actors, 'checkpoint', { summary: 'half done', decisions: ['use bees'] })).toMatchObject(
    { checkpoints: 1 },
  );
  expect(await error(actors, 'checkpoint', { summary: '   ' })).toContain('blank');
  expect(await actors.ask(conversations, 'checkpoints', { conversation_id: 'here' })).toMatchObject({
    checkpoints: [{ summary: 'half done', decisions: ['use bees'], next_step: '' }],
  });

  expect(await answer(actors, 'scratchpad_note', { note: 'one' })).toMatchObject({ status: 'saved' });
  await answer(actors, 'scratchpad_note', { note: 'two' });
  const both = await answer(actors, 'scratchpad_note', { read: true, note: 'not this' });
  expect(both).toMatchObject({ status: 'read', scratchpad: expect.stringMatching(/one[\s\S]*two$/) });
  expect(await answer(actors, 'scratchpad_note', { note: 'three', replace: true })).toMatchObject({
    scratchpad: 'three',
  });
  expect(await answer(actors, 'scratchpad_note', {}, { conversation: 'other' })).toMatchObject({
    scratchpad: '',
  });

  await answer(actors, 'update_conversation_state', { slot: 'goals', entries: [' ship ', ''] });
  const state = await answer(actors, 'update_conversation_state', { slot: 'goals', entries: ['rest'] });
  expect(state).toEqual({ status: 'saved', slot: 'goals', entries: 2 });
  expect(await error(actors, 'update_conversation_state', { slot: 'goals', entries: [' '] })).toContain(
    'entries',
  );
  expect(await error(actors, 'update_conversation_state', { slot: 'other', entries: ['a'] })).toContain(
    'slot',
  );
});

test('present_exhibit hands the exhibit over beside the answer', async () => {
  const actors = await openEdgeActors();
  const shown = await call(actors, 'present_exhibit', {
    elements: [{ type: 'choice', options: ['a', 'a ', 'b'] }],
  });
  expect(shown).toMatchObject({
    success: true,
    exhibits: [{ schema_version: 1, layout: 'stack', elements: [{ type: 'choice', options: ['a', 'b'] }] }],
  });
  const refused = await call(actors, 'present_exhibit', { elements: [{ type: 'image', url: 'https://x' }] });
  expect(refused).toMatchObject({ success: false });
  expect(refused.exhibits).toBeUndefined();
});

test('an output that has expired is gone for the tools too', async () => {
  const clock = new ManualClock();
  const actors = await openEdgeActors({ clock });
  const key = await keep(actors, 'text');
  expect(await call(actors, 'read_stored_output', { key })).toMatchObject({ success: true });
  clock.advance(3_600_000);
  expect(await error(actors, 'read_stored_output', { key })).toContain('expired');
});

test('a call whose caller has gone is stopped', async () => {
  const actors = await openEdgeActors();
  await say(actors, 'here', ['hello']);
  const gone = AbortSignal.abort();
  await expect(
    actors.ask(
      tools,
      'call',
      {
        tool: 'read_thread',
        tool_call_id: 'c',
        arguments: { conversation_id: 'current' },
        caller: { run_id: 'r', conversation_id: 'here', user_id: 'default', durable: true },
      },
      { signal: gone },
    ),
  ).rejects.toMatchObject({ code: 'ask_cancelled' });
  expect(await call(actors, 'read_thread', { conversation_id: 'current' })).toMatchObject({ success: true });
});
