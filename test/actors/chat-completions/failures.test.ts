// What goes wrong, as OpenAI's client sees it, and as it goes over the wire.

import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CALLS_OPEN_MAX } from '../../../src/actors/chat-completions/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { type Script, startProviderDouble } from '../../support/provider-double.ts';
import { DOUBLE_MODEL, openTroupe, type TestTroupe } from '../../support/troupe.ts';
import { hello, openaiClient } from './openai-client.ts';

const model = DOUBLE_MODEL;
let app: TestTroupe;
let client: OpenAI;

beforeAll(async () => {
  app = await openTroupe();
  client = openaiClient(app);
});
afterAll(() => app.close());

const post = (body: unknown): Promise<Response> =>
  fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer anything' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('a failure of the provider', () => {
  const failures: readonly (readonly [string, Script, Readonly<Record<string, unknown>>])[] = [
    [
      'a rate limit',
      { fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' } } },
      { status: 429, type: 'rate_limit_error', code: 'provider_rate_limited' },
    ],
    [
      'a refusal',
      { fault: { kind: 'status', status: 400, message: 'too many words' } },
      { status: 502, type: 'api_error', code: 'provider_rejected' },
    ],
    [
      'an error of its own',
      { fault: { kind: 'status', status: 500 } },
      { status: 502, type: 'api_error', code: 'provider_unreachable' },
    ],
    [
      'an answer without an end',
      { text: '', finishReason: null },
      { status: 502, code: 'provider_unreachable' },
    ],
  ];

  test.each(failures)('%s, blocking and streamed alike', async (_what, script, expected) => {
    app.double.answer(script);
    const before = app.double.requestCount;
    for (const stream of [false, true]) {
      await expect(client.chat.completions.create({ model, messages: hello, stream })).rejects.toMatchObject(
        expected,
      );
    }
    // The client repeats by itself: nobody else does.
    expect(app.double.requestCount).toBe(before + 2);
  });

  test('is told when to come again', async () => {
    app.double.answer({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' } } });
    const response = await post({ model, messages: hello });
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringContaining('lmstudio answered 429'),
        type: 'rate_limit_error',
        param: null,
        code: 'provider_rate_limited',
      },
    });
  });

  test.each<readonly [string, Script, string]>([
    [
      'a connection that breaks',
      { text: ['One ', 'two'], fault: { kind: 'cut', afterChunks: 1 } },
      'provider_unreachable',
    ],
    ['an end by an error', { text: 'One ', finishReason: 'error' }, 'completion_failed'],
  ])('is told in the stream when the answer has begun: %s', async (_what, script, code) => {
    app.double.answer(script);
    const stream = await client.chat.completions.create({ model, messages: hello, stream: true });
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? '');
    };
    await expect(read()).rejects.toMatchObject({ code });
    expect(seen.join('')).toBe('One ');
  });

  test('leads to the next model of the chain as long as nothing was said', async () => {
    const second = await startProviderDouble({ script: { text: 'From the second one.' } });
    onTestFinished(() => second.stop());
    await app.call('POST', '/api/providers/custom', { id: 'second', base_url: second.baseUrl });
    onTestFinished(() => void app.call('DELETE', '/api/providers/custom/second'));
    app.double.answer({ fault: { kind: 'status', status: 503 } });
    const completion = await client.chat.completions.create({ model, messages: hello });
    expect(completion).toMatchObject({
      model: 'second:double-1',
      choices: [{ message: { content: 'From the second one.' } }],
    });
  });
});

describe('a request that makes no sense', () => {
  test.each([
    ['n of two', { n: 2 }, 'n', 'n must be 1: one answer at a time'],
    ['log probabilities', { logprobs: true }, 'logprobs', 'logprobs are not told here'],
    [
      'a picture from elsewhere',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      'messages[0].content',
      'an image is named by the url that its upload has answered, /api/workspaces/{id}/documents/{id}/raw',
    ],
    [
      'an answer to no call',
      { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] },
      'messages[0].tool_call_id',
      'a tool message answers a tool call before it',
    ],
    ['no messages', { messages: [] }, null, 'messages must have at least 1 items'],
    ['a hot temperature', { temperature: 9 }, null, 'temperature must be <= 2'],
    [
      'a strange role',
      { messages: [{ role: 'king', content: 'Hello' }] },
      null,
      'messages[0].role must be one of: system, developer, user, assistant, tool',
    ],
  ])('is refused: %s', async (_what, members, param, message) => {
    const before = app.double.requestCount;
    const response = await post({ model, messages: hello, ...members });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: { message, type: 'invalid_request_error', param, code: expect.any(String) } },
    ]);
    expect(app.double.requestCount).toBe(before);
  });

  test('is refused when it is no JSON', async () => {
    const response = await post('{"model":');
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', code: 'json_invalid' } },
    ]);
  });

  test('is refused when it is too large', async () => {
    const response = await post({
      model,
      messages: [{ role: 'user', content: 'x'.repeat(9 * 1024 * 1024) }],
    });
    expect([response.status, await response.json()]).toMatchObject([
      413,
      { error: { type: 'invalid_request_error', code: 'body_too_large' } },
    ]);
  });
});

test('a model that nothing can stand in for is not found', async () => {
  onTestFinished(() => app.configure({ models: { fallback_enabled: true } }));
  await app.configure({ models: { fallback_enabled: false } });
  await expect(
    client.chat.completions.create({ model: 'nobody:nothing', messages: hello }),
  ).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test('one completion too many is told to come again', { timeout: 120_000 }, async () => {
  app.double.answer({ fault: { kind: 'silence' } });
  const leaving = new AbortController();
  const { signal } = leaving;
  const open = Array.from({ length: CALLS_OPEN_MAX }, () =>
    client.chat.completions.create({ model, messages: hello }, { signal }).catch(() => undefined),
  );
  await app.double.received(app.double.requestCount + CALLS_OPEN_MAX - 1);
  const refused = await post({ model, messages: hello });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ error: { type: 'api_error', code: 'completions_full' } });
  leaving.abort();
  await Promise.all(open);
  app.double.release();
  app.double.answer({ text: 'Room again.' });
  await eventually(async () => (await post({ model, messages: hello })).status).toBe(200);
});

test('over the wire a stream is data lines, closed by [DONE]', async () => {
  app.double.answer({ text: ['Hi'] });
  const response = await post({ model, messages: hello, stream: true });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const frames = (await response.text()).split('\n\n');
  expect(frames.pop()).toBe('');
  expect(frames.pop()).toBe('data: [DONE]');
  const chunks = frames.map((frame) => {
    expect(frame).toMatch(/^data: \{[^\n]*\}$/);
    return JSON.parse(frame.slice('data: '.length));
  });
  const { id, created } = chunks[0];
  const chunk = (delta: object, finish_reason: string | null) => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  expect(chunks).toEqual([
    chunk({ role: 'assistant', content: '' }, null),
    chunk({ content: 'Hi' }, null),
    chunk({}, 'stop'),
  ]);
});
