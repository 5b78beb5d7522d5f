// Agents as models of OpenAI's API: a completion of `agent:default` is a turn of Troupe.

import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { orderOf, textOf } from '../../support/run-events.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';
import { hello, openaiClient, weatherTool } from './openai-client.ts';

const model = 'agent:default';
let app: TestTroupe;
let client: OpenAI;

beforeAll(async () => {
  app = await openTroupe();
  client = openaiClient(app);
});
afterAll(() => app.close());

const sent = (): readonly { readonly role: string; readonly content: unknown }[] =>
  app.double.requests.at(-1)?.body.messages ?? [];

test('the answer of a turn comes whole, with what the turn used', async () => {
  app.double.answer({
    reasoning: 'Well.',
    text: 'I am the agent.',
    usage: { prompt_tokens: 50, completion_tokens: 6 },
  });
  const completion = await client.chat.completions.create({ model, messages: hello });
  expect(completion).toMatchObject({
    model,
    choices: [{ message: { content: 'I am the agent.', reasoning_content: 'Well.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 50, completion_tokens: 6, total_tokens: 56 },
  });
  // The prompt and the tools are the agent's.
  expect(sent()[0]?.role).toBe('system');
  expect(app.double.requests.at(-1)?.body.tools?.length).toBeGreaterThan(0);
});

test('the answer of a turn comes piece by piece, behind the tools that the agent used', async () => {
  app.double.answer([
    { toolCalls: [{ name: 'recall_user_history', arguments: { topic: 'tea' } }] },
    { text: ['Tea, ', 'I ', 'believe.'] },
  ]);
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'What do I drink?' }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await Array.fromAsync(stream);
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Tea, I believe.');
  expect(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([]);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
});

test('the conversation that the client sends goes along, and is not stored', async () => {
  app.double.answer({ text: 'Blue.' });
  await client.chat.completions.create({
    model,
    messages: [
      { role: 'system', content: 'Answer in one word.' },
      { role: 'user', content: 'I like blue.' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'What do I like?' },
    ],
  });
  expect(sent().slice(-3)).toEqual([
    { role: 'user', content: 'I like blue.' },
    { role: 'assistant', content: 'Noted.' },
    { role: 'user', content: 'Answer in one word.\n\nWhat do I like?' },
  ]);
  expect(JSON.stringify((await app.call('GET', '/api/conversations')).body)).not.toContain('blue');
});

test('a named conversation is stored, and remembers by itself', async () => {
  const metadata = { session_id: 'from-the-api' };
  app.double.answer({ text: 'Hello, Ada.' });
  await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'I am Ada.' }],
    metadata,
  });
  await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'Who am I?' }],
    metadata,
  });
  expect(
    sent()
      .slice(-3)
      .map(({ content }) => content),
  ).toEqual(['I am Ada.', 'Hello, Ada.', 'Who am I?']);
  expect((await app.messages('from-the-api')).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
});

test('the turn ends with its client', async () => {
  app.double.answer({ text: ['One ', 'two'], fault: { kind: 'stall', afterChunks: 1 } });
  const at = app.double.requestCount;
  const stream = await client.chat.completions.create({ model, messages: hello, stream: true });
  for await (const _ of stream) break;
  expect(await (await app.double.received(at)).ended).toBe('client_left');
});

test('a turn that the request was folded into is not ended with its client', async () => {
  await app.configure({ runs: { on_busy: 'steer' } });
  app.double.answer([
    { text: ['One ', 'two'], fault: { kind: 'stall', afterChunks: 1 } },
    { text: 'And three.' },
  ]);
  const turn = await app.start('Count', { session_id: 'shared', model: null });
  await turn.reader.until('chunk');
  const leaving = new AbortController();
  const metadata = { session_id: 'shared' };
  const joined = client.chat.completions
    .create({ model, messages: hello, metadata, stream: true }, { signal: leaving.signal })
    .then(async (stream) => {
      for await (const _ of stream);
    })
    .catch(() => 'left');
  await turn.reader.until('steer');
  leaving.abort();
  await joined;
  const open = async () =>
    ((await app.troupe.system.introspection.getState('chat/chat-completions')) as { callsOpen: number })
      .callsOpen;
  await eventually(open).toBe(0);
  app.double.release();
  await app.configure({ runs: { on_busy: 'queue' } });
  const events = await turn.reader.rest();
  expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
  expect(textOf(events)).toContain('And three.');
});

describe('what an agent does not do', () => {
  test.each([
    ['tools', { tools: [weatherTool] }, 'tools'],
    ['a format', { response_format: { type: 'json_object' as const } }, 'response_format'],
    [
      'an answer to itself',
      { messages: [...hello, { role: 'assistant' as const, content: 'Hi.' }] },
      'messages',
    ],
  ])('is refused by name: %s', async (_what, members, param) => {
    await expect(
      client.chat.completions.create({ model, messages: hello, ...members }),
    ).rejects.toMatchObject({
      status: 400,
      param,
      type: 'invalid_request_error',
    });
  });

  test('another agent is not known yet', async () => {
    await expect(
      client.chat.completions.create({ model: 'agent:poet', messages: hello }),
    ).rejects.toMatchObject({ status: 404, code: 'model_unknown' });
  });
});

test('a turn that fails is a failure of the API', async () => {
  app.double.answer({ fault: { kind: 'status', status: 400, message: 'no such thing' } });
  await expect(client.chat.completions.create({ model, messages: hello })).rejects.toMatchObject({
    status: 502,
    code: 'completion_failed',
    type: 'api_error',
  });
});
