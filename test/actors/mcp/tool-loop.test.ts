// Tools of connected servers in turns: real servers, real threads, a model that is played.

import { afterAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { connectServer, everythingServer, ownServer } from '../../support/mcp-configs.ts';
import type { ScriptedToolCall } from '../../support/provider-double-script.ts';
import type { ReadEvent } from '../../support/sse-reader.ts';
import { openTroupe, type Turn } from '../../support/troupe.ts';

const app = await openTroupe({ service: { runHosts: 1 } });
afterAll(() => app.close());
await connectServer(app, 'own');

beforeEach(() => app.configure({ mcp: { inline_tools_max: 40, allowed_tools: [], blocked_tools: [] } }));

const call = (name: string, given: object = {}, id = 'call_1'): ScriptedToolCall => ({
  id,
  name,
  arguments: given as Readonly<Record<string, unknown>>,
});

/** A turn in which the model makes these calls at once, and then answers. */
async function turnWith(...toolCalls: readonly ScriptedToolCall[]): Promise<Turn> {
  app.double.answer([{ toolCalls }, { text: 'Done.' }]);
  return app.turn('Go.');
}

const dataOf = (turn: { readonly events: readonly ReadEvent[] }, event: string) =>
  turn.events.filter((one) => one.event === event).map(({ data }) => data);

/** What the model was offered last. */
function offered(): string[] {
  const { tools = [] } = app.double.requests.at(-1)?.body ?? {};
  return (tools as { function: { name: string } }[]).map((tool) => tool.function.name);
}

const lastResults = () =>
  (app.double.requests.at(-1)?.body.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

test('a model is offered the tools of a server, calls one, and reads what it gives', async () => {
  const turn = await turnWith(call('own__echo', { message: 'hello there' }));
  expect(offered()).toContain('own__echo');
  expect(lastResults()).toEqual(['hello there']);
  expect(dataOf(turn, 'tool_call')).toEqual([
    { tool: 'own.echo', tool_call_id: 'call_1', arguments: { message: 'hello there' } },
  ]);
  expect(dataOf(turn, 'tool_result')).toEqual([
    {
      tool: 'own.echo',
      tool_call_id: 'call_1',
      content: 'hello there',
      success: true,
      duration_ms: expect.any(Number),
    },
  ]);
  const rows = await app.messages(turn.sessionId);
  expect(rows.map(({ role }) => role)).toEqual(['user', 'tool_call', 'tool_result', 'assistant']);
  expect(rows[1]?.metadata).toMatchObject({ tool: 'own.echo', tool_call_id: 'call_1' });
});

test('a tool is found by what people call it too, and a null that means nothing is left out', async () => {
  await turnWith(call('own.echo', { message: 'by its label', other: null }));
  expect(lastResults()).toEqual(['by its label']);
});

test('calls of one answer are made side by side, and told in their order', async () => {
  const turn = await turnWith(
    // None of the two goes on before both are there.
    call('own__measure', { together: 2, ms: 100 }, 'a'),
    call('own__measure', { together: 2 }, 'b'),
    call('checkpoint', { summary: 'between' }, 'c'),
  );
  const results = dataOf(turn, 'tool_result');
  expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'b', 'c']);
  expect(JSON.parse(results[0].content)).toEqual({ runningMost: 2 });
});

test('a tool that fails, one that errs and one that is not there are answers for the model', async () => {
  const turn = await turnWith(
    call('own__fail', {}, 'a'),
    call('own__error', {}, 'b'),
    call('own__nope', {}, 'c'),
  );
  const results = dataOf(turn, 'tool_result');
  expect(results.map(({ success }) => success)).toEqual([false, false, false]);
  expect(results[0].content).toBe('Error: it did not work');
  expect(results[1].content).toContain('no such luck');
  expect(results[2].content).toContain('There is no tool called own__nope');
  expect(dataOf(turn, 'done')).toHaveLength(1);
});

test('a result that is too deep for another thread to read holds up no turn', async () => {
  await turnWith(call('own__echo', { message: 'flat', deep: 3_000 }));
  expect(lastResults()).toEqual([expect.stringContaining('flat')]);
});

test('a long result is stored, and the model gets the way to it', async () => {
  await turnWith(call('own__echo', { message: 'x'.repeat(20_000) }));
  const [result] = lastResults();
  expect(result).toContain('The result of own.echo has 20000 characters');
  const key = /stored for an hour as (\S+)\./.exec(String(result))?.[1];
  expect((await app.call('GET', `/api/tool-outputs/${key}`)).body.content).toHaveLength(20_000);
});

test('progress is told while a tool runs, as statuses', async () => {
  const turn = await turnWith(call('own__progress', { steps: 3, everyMs: 300 }));
  const told = dataOf(turn, 'status').filter(({ progress }) => progress !== undefined);
  expect(told.length).toBeGreaterThan(0);
  expect(told[0]).toMatchObject({ phase: 'running_tool', label: 'Running own.progress…' });
  expect(lastResults()).toEqual(['done']);
});

test('a cancel of the run reaches the server', async () => {
  const toolCalls = [call('own__progress', { steps: 100_000, everyMs: 20 })];
  app.double.answer([{ toolCalls }, { text: 'Never.' }]);
  const { runId, reader } = await app.start('Go.');
  // Its progress says that the call has reached the server.
  let isRunning = false;
  while (!isRunning) isRunning = (await reader.until('status')).data.progress !== undefined;
  await app.cancel(runId);
  expect((await reader.rest()).at(-1)?.event).toBe('close');
  await eventually(async () => {
    await turnWith(call('own__cancelled'));
    return JSON.parse(String(lastResults()[0])).length;
  }).toBe(1);
});

test('blocked tools are neither offered nor called, and an allow list leaves only what it names', async () => {
  await app.configure({ mcp: { blocked_tools: ['own.echo'] } });
  const turn = await turnWith(call('own__echo', { message: 'x' }));
  expect(offered()).not.toContain('own__echo');
  expect(offered()).toContain('own__pid');
  expect(dataOf(turn, 'tool_result')[0].success).toBe(false);
  await app.configure({ mcp: { allowed_tools: ['own.*'], blocked_tools: ['own.echo'] } });
  await turnWith(call('own__pid'));
  expect(offered().filter((name) => name.startsWith('own__'))).toHaveLength(17);
  await app.configure({ mcp: { allowed_tools: ['own.pid', 'other.*'], blocked_tools: [] } });
  await turnWith(call('own__pid'));
  expect(offered().filter((name) => name.startsWith('own__'))).toEqual(['own__pid']);
});

test('a server that is for some agents only offers nothing to the others', async () => {
  await connectServer(
    app,
    'guarded',
    ownServer([], { allowed_agent_ids: ['expert'], blocked_tools: ['crash'] }),
  );
  await turnWith(call('own__pid'));
  expect(offered().some((name) => name.startsWith('guarded__'))).toBe(false);
  const denied = await turnWith(call('guarded__pid'));
  expect(dataOf(denied, 'tool_result')[0].success).toBe(false);
  app.double.answer([{ toolCalls: [call('guarded__pid')] }, { text: 'Done.' }]);
  const turn = await app.turn('Go.', { agent_profile_id: 'expert' });
  expect(dataOf(turn, 'tool_result')[0].success).toBe(true);
  expect(offered()).toContain('guarded__echo');
  expect(offered()).not.toContain('guarded__crash');
  await app.call('DELETE', '/api/mcp/servers/guarded');
});

test('of many tools a model searches those that it needs, and is offered them from then on', async () => {
  await app.configure({ mcp: { inline_tools_max: 5 } });
  app.double.answer([
    { toolCalls: [call('search_tools', { query: 'echo' })] },
    { toolCalls: [call('own__echo', { message: 'found' }, 'call_2')] },
    { text: 'Done.' },
  ]);
  const turn = await app.turn('Go.');
  const [first, second, third] = app.double.requests.slice(-3).map(({ body }) => JSON.stringify(body.tools));
  expect(first).toContain('Finds tools among the 18 that connected servers offer: own (18)');
  expect(first).not.toContain('own__echo');
  expect(second).toContain('own__echo');
  expect(third).toContain('own__echo');
  const [searched, called] = dataOf(turn, 'tool_result');
  expect(JSON.parse(searched.content)).toMatchObject({ tools: [{ name: 'own__echo', tool: 'own.echo' }] });
  expect(called).toMatchObject({ tool: 'own.echo', content: 'found', success: true });

  // The conversation keeps it; another one does not have it, and can call it all the same.
  app.double.answer([{ text: 'Again.' }]);
  await app.turn('Again.', { session_id: turn.sessionId });
  expect(offered()).toContain('own__echo');
  const elsewhere = await turnWith(call('own__echo', { message: 'unasked' }));
  expect(offered()).not.toContain('own__echo');
  expect(dataOf(elsewhere, 'tool_result')[0]).toMatchObject({ content: 'unasked', success: true });
});

test('a server whose process has died is started again by the call that finds it down', async () => {
  await connectServer(app, 'frail');
  const crashed = await turnWith(call('frail__crash'));
  expect(dataOf(crashed, 'tool_result')[0].success).toBe(false);
  const next = await turnWith(call('frail__echo', { message: 'back' }));
  expect(dataOf(next, 'tool_result')[0]).toMatchObject({ content: 'back', success: true });
  await app.call('POST', '/api/mcp/disconnect', { server: 'frail' });
  const gone = await turnWith(call('frail__echo', { message: 'x' }));
  expect(dataOf(gone, 'tool_result')[0]).toMatchObject({ success: false });
  expect(offered()).not.toContain('frail__echo');
});

test('media are named to the model, and what has no text is told by its structure', async () => {
  await turnWith(call('own__media'));
  const [result] = lastResults();
  expect(result).toContain('[image (image/png), 5 bytes, not shown: ');
  expect(result).toContain('[audio (audio/wav)');
  expect(result).toContain('[resource a://b]\ninside');
  expect(result).toContain('[link to resource c: a://c]');
  expect(result).toContain('{"a":1}');
});

test('an image that a tool gives is stored and shown, and the model reads where it is', async () => {
  await connectServer(app, 'everything', everythingServer());
  const turn = await turnWith(call('everything__get-tiny-image', {}, 'call_7'));
  const [exhibit] = dataOf(turn, 'exhibit');
  expect(exhibit).toMatchObject({ id: 'exh_mcp_call_7_1', elements: [{ type: 'image' }] });
  const { url } = exhibit.elements[0];
  const image = await fetch(app.url + url);
  expect(image.status).toBe(200);
  expect(image.headers.get('content-type')).toContain('image/png');
  expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(100);
  expect(lastResults().join()).toContain(`"url":"${url}"`);
  expect(dataOf(turn, 'tool_result')[0].content).toContain('stored_media');
  expect(turn.events.map(({ event }) => event).indexOf('exhibit')).toBeGreaterThan(
    turn.events.map(({ event }) => event).indexOf('tool_result'),
  );

  app.double.answer([{ toolCalls: [call('everything__get-tiny-image')] }, { text: 'Done.' }]);
  const forgotten = await app.turn('Go.', { use_memory: false });
  expect(dataOf(forgotten, 'exhibit')).toEqual([]);
  await app.call('DELETE', '/api/mcp/servers/everything');
});
