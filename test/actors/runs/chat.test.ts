// The blocking chat, the list of runs, what a turn leaves in the transcript, and what is refused before it starts.

import { afterAll, describe, expect, test } from 'vitest';
import type { DoubleRequest } from '../../support/provider-double.ts';
import { orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { DOUBLE_MODEL, openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const chat = (message: string, options: Readonly<Record<string, unknown>> = {}) =>
  app.call('POST', '/api/agent/chat', { message, model: DOUBLE_MODEL, ...options });

const listedRuns = async (query = '') =>
  (await app.call('GET', `/api/agent/chat/runs${query}`)).body.runs as readonly Record<string, unknown>[];

function userTexts({ body }: DoubleRequest): unknown[] {
  return (body.messages ?? []).filter(({ role }) => role === 'user').map(({ content }) => content);
}

describe('a blocking chat', () => {
  test('answers when the turn is done, with its answer, thoughts and usage', async () => {
    app.double.answer({
      reasoning: 'Easy.',
      text: 'Lisbon.',
      usage: { prompt_tokens: 40, completion_tokens: 2 },
    });
    const { status, body } = await chat('Where?');
    expect(status).toBe(200);
    expect(body).toEqual({
      task_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      status: 'complete',
      response: 'Lisbon.',
      answer: 'Lisbon.',
      thinking: 'Easy.',
      has_thinking: true,
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      reasoning_trace: 0,
      reasoning_steps: 0,
      tokens_used: 42,
      total_tokens: 42,
      total_time_ms: expect.any(Number),
    });
    const rows = await app.messages(body.session_id);
    expect(rows.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: Where?',
      'assistant: Lisbon.',
    ]);
  });

  test('is not among the detached runs', async () => {
    app.double.answer({ text: 'Hello' });
    const before = await listedRuns();
    await chat('Hello');
    expect(await listedRuns()).toEqual(before);
  });

  test('knows the earlier turns of its session', async () => {
    app.double.answer({ text: 'Noted.' });
    const { body } = await chat('My name is Ada.');
    const asked = app.double.requestCount;
    await chat('What is my name?', { session_id: body.session_id });
    expect(userTexts(await app.double.received(asked))).toEqual(['My name is Ada.', 'What is my name?']);
  });

  test('answers 502 with the reason when the provider fails', async () => {
    app.double.answer({ fault: { kind: 'status', status: 400, message: 'out of order' } });
    expect(await chat('Hello')).toMatchObject({
      status: 502,
      body: { error: expect.stringContaining('out of order') },
    });
  });

  test('answers what came when the provider fails in the middle', async () => {
    app.double.answer({ text: ['Half ', 'an answer'], fault: { kind: 'cut', afterChunks: 1 } });
    const { status, body } = await chat('Hello');
    expect(status).toBe(200);
    expect(body.answer).toMatch(/^Half.*\[The answer was cut short/s);
  });
});

describe('the list of runs', () => {
  test('names each run with its first 200 characters, newest first', async () => {
    app.double.answer({ text: 'Hello' });
    const long = '😀'.repeat(150);
    const first = await app.turn(long);
    const second = await app.turn('Second');
    const [newest, older] = await listedRuns('?limit=2');
    expect(newest).toEqual({
      run_id: second.runId,
      status: 'done',
      message: 'Second',
      session_id: second.sessionId,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}\+00:00$/),
      updated_at: expect.stringMatching(/\+00:00$/),
    });
    expect(older).toMatchObject({ run_id: first.runId, message: '😀'.repeat(100) });
  });

  test('holds at most fifty', async () => {
    app.double.answer({ text: 'Hello' });
    await Promise.all(Array.from({ length: 55 }, (_, i) => app.turn(`Hello ${i}`)));
    const listed = await listedRuns();
    expect(listed).toHaveLength(50);
    const times = listed.map(({ created_at }) => String(created_at));
    expect(times).toEqual(times.toSorted().reverse());
  });

  test.each(['0', '51', 'all'])('refuses a limit of %s', async (limit) => {
    expect((await app.call('GET', `/api/agent/chat/runs?limit=${limit}`)).status).toBe(400);
  });
});

describe('the transcript', () => {
  test('is there when done is read', async () => {
    app.double.answer({ text: 'Saved.' });
    const { reader } = await app.start('Save me');
    const { data } = await reader.until('done');
    expect((await app.messages(data.session_id)).map(({ content }) => content)).toEqual([
      'Save me',
      'Saved.',
    ]);
    await reader.rest();
  });

  test('says of the answer which model gave it and what it took', async () => {
    app.double.answer({ text: 'Saved.', usage: { prompt_tokens: 30, completion_tokens: 3 } });
    const { sessionId } = await app.turn('Save me');
    expect((await app.messages(sessionId)).at(-1)?.metadata).toEqual({
      model: 'double-1',
      provider: 'lmstudio',
      latency_ms: expect.any(Number),
      tokens_input: 30,
      tokens_output: 3,
      context_window: expect.any(Number),
      context_used: 33,
      had_thinking: false,
      agent_name: 'AgentX',
    });
  });

  test('is kept under the session id that the client gave, to the letter', async () => {
    app.double.answer({ text: 'Hello' });
    const session_id = 'Ünïcode/& more: "1" 😀';
    const { sessionId } = await app.turn('Hello', { session_id });
    expect(sessionId).toBe(session_id);
    expect(await app.messages(session_id)).toHaveLength(2);
  });

  test('of a turn without memory is not written, and yet the next turn of the session knows it', async () => {
    app.double.answer({ reasoning: 'Ada.', text: 'Hello Ada.' });
    const quiet = { use_memory: false, session_id: 'ephemeral' };
    await app.turn('I am Ada.', quiet);
    const asked = app.double.requestCount;
    await app.turn('Who am I?', quiet);
    const request = await app.double.received(asked);
    expect(userTexts(request)).toEqual(['I am Ada.', 'Who am I?']);
    expect(request.body.messages?.find(({ role }) => role === 'assistant')?.content).toBe('Hello Ada.');
    await expect(app.messages('ephemeral')).rejects.toThrow('404');
    const { body } = await app.call('GET', '/api/conversations');
    expect(JSON.stringify(body)).not.toContain('I am Ada');
  });
});

describe('a very long message', () => {
  test('reaches the model as its beginning and the way to the rest, and is kept whole', async () => {
    const message = `Begin ${'x'.repeat(6_000)} END`;
    let key = '';
    app.double.answer(({ body }) => {
      const last = body.messages?.at(-1);
      if (last?.role !== 'user')
        return { text: String(last?.content).includes('END') ? 'I saw it.' : 'Lost.' };
      key = /msg_\d{6}_[0-9a-f]{8}/.exec(String(last.content))?.[0] ?? '';
      return { toolCalls: [{ name: 'read_user_message', arguments: { key, offset: 2_000, limit: 5_000 } }] };
    });
    const asked = app.double.requestCount;
    const { events, sessionId } = await app.turn(message);
    const seen = String(userTexts(await app.double.received(asked))[0]);
    expect(seen.length).toBeLessThan(2_500);
    expect(seen.startsWith(message.slice(0, 2_000))).toBe(true);
    expect(key).not.toBe('');
    expect(payloadOf(events, 'tool_result').success).toBe(true);
    expect(textOf(events)).toBe('I saw it.');
    expect((await app.messages(sessionId))[0]?.content).toBe(message);
  });
});

describe('a turn is refused before it starts', () => {
  const start = (body: unknown) => app.call('POST', '/api/agent/chat/stream', body);

  test.each<[string, unknown]>([
    ['no message', {}],
    ['a blank message', { message: '  ' }],
    ['a message that is no text', { message: 42 }],
    ['an empty list of images', { message: '', images: [] }],
    ['a temperature out of range', { message: 'Hello', temperature: 3 }],
    ['a session id that is too long to be filed', { message: 'Hello', session_id: 'x'.repeat(129) }],
    ['a session id of half a character', { message: 'Hello', session_id: '\ud800' }],
  ])('for %s: 400 with a sentence', async (_, body) => {
    const { status, body: answer } = await start(body);
    expect({ status, error: typeof answer.error }).toEqual({ status: 400, error: 'string' });
    expect((await app.call('POST', '/api/agent/chat', body)).status).toBe(400);
  });

  test('for a body that is no JSON: 400', async () => {
    const response = await fetch(`${app.url}/api/agent/chat/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"message":',
    });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toMatch(/^Invalid JSON/);
  });
});

test('null members mean the same as absent ones', async () => {
  app.double.answer({ text: 'Hello' });
  const nothing = Object.fromEntries(
    ['session_id', 'profile_id', 'temperature', 'use_memory', 'agent_profile_id', 'images', 'audio'].map(
      (member) => [member, null],
    ),
  );
  expect(orderOf((await app.turn('Hello', nothing)).events)).toContain('done');
});

test('the status of the agent follows the last task', async () => {
  app.double.answer({ text: 'Never.', fault: { kind: 'silence' } });
  const { runId, reader } = await app.start('Wait for me');
  const busy = (await app.call('GET', '/api/agent/status')).body;
  expect(busy).toMatchObject({
    name: 'AgentX',
    status: 'executing',
    current_task: 'Wait for me',
    active_sessions: 1,
  });
  expect(busy.tools_available).toContain('present_exhibit');
  await app.cancel(runId);
  await reader.rest();
  const idle = (await app.call('GET', '/api/agent/status')).body;
  expect(idle).toMatchObject({ status: 'cancelled', current_task: null, active_sessions: 0 });
});

describe('without any provider', () => {
  test('the offline responder answers, says so, and is left as soon as a provider is configured', async () => {
    await using offline = await openTroupe({ offline: true });
    const first = await offline.turn('My cat is called Mia.');
    expect(payloadOf(first.events, 'done')).toMatchObject({ provider: 'local', model: 'offline' });
    const second = await offline.turn('What is my cat called?', { session_id: first.sessionId });
    expect(textOf(second.events)).toContain('Mia');
    expect(payloadsOf(second.events, 'tool_call')[0]?.tool).toBe('recall_user_history');

    await offline.configure({ providers: { lmstudio: { base_url: offline.double.baseUrl } } });
    const third = await offline.turn('Hello?');
    expect(payloadOf(third.events, 'done')).toMatchObject({ provider: 'lmstudio', model: 'double-1' });
    expect(textOf(third.events)).toBe('Hello from the double.');
  });

  test('and without the offline responder, a turn says what to do, and a blocking chat answers 404', async () => {
    await using offline = await openTroupe({ offline: true });
    await offline.configure({ models: { offline_fallback: { enabled: false } } });
    const { runId, reader } = await offline.start('Hello');
    const [, ...events] = await reader.rest();
    expect(orderOf(events)).toEqual(['error', 'close']);
    expect(payloadOf(events, 'error')).toEqual({
      error: expect.stringContaining('LMSTUDIO_BASE_URL'),
      code: 'model_not_found',
    });
    expect(await offline.listed(runId)).toMatchObject({ status: 'failed' });
    const { status, body } = await offline.call('POST', '/api/agent/chat', { message: 'Hello' });
    expect({ status, error: body.error }).toEqual({
      status: 404,
      error: expect.stringContaining('no model provider is configured'),
    });
  });
});
