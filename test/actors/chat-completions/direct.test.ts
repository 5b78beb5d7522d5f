// Direct completions through OpenAI's own client: what goes to the provider, what comes back, and nothing else.

import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DoubleRequest } from '../../support/provider-double.ts';
import { DOUBLE_MODEL, openTroupe, type TestTroupe } from '../../support/troupe.ts';
import { hello, openaiClient, weatherTool } from './openai-client.ts';

const model = DOUBLE_MODEL;
let app: TestTroupe;
let client: OpenAI;

beforeAll(async () => {
  app = await openTroupe();
  client = openaiClient(app);
});
afterAll(() => app.close());

const lastRequest = (): DoubleRequest => app.double.requests.at(-1) as DoubleRequest;

describe('a blocking completion', () => {
  test('is the answer of the model, and names it', async () => {
    app.double.answer({ text: 'Hello from afar.', usage: { prompt_tokens: 7, completion_tokens: 4 } });
    const completion = await client.chat.completions.create({ model, messages: hello });
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello from afar.', refusal: null },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 },
    });
    expect(completion.id).toMatch(/^chatcmpl-[0-9a-f]{24}$/);
    expect(Math.abs(completion.created - Date.now() / 1000)).toBeLessThan(120);
  });

  test('sends the client messages and nothing of ours', async () => {
    app.double.answer({ text: 'Yes.' });
    await client.chat.completions.create({
      model,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Are you' },
            { type: 'text', text: 'there?' },
          ],
        },
      ],
    });
    const { body } = lastRequest();
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Are you\nthere?' },
    ]);
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'stream', 'stream_options']);
  });

  test('passes on how the model is to write', async () => {
    app.double.answer({ text: '{"a":1}' });
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    await client.chat.completions.create({
      model,
      messages: hello,
      temperature: 0.3,
      top_p: 0.5,
      frequency_penalty: 0.25,
      presence_penalty: -0.5,
      max_completion_tokens: 55,
      stop: ['END', '###'],
      seed: 42,
      n: 1,
      response_format: { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } },
    });
    expect(lastRequest().body).toMatchObject({
      temperature: 0.3,
      top_p: 0.5,
      frequency_penalty: 0.25,
      presence_penalty: -0.5,
      max_tokens: 55,
      stop: ['END', '###'],
      seed: 42,
      response_format: { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } },
    });
    await client.chat.completions.create({
      model,
      messages: hello,
      max_tokens: 9,
      stop: 'END',
      response_format: { type: 'json_object' },
    });
    expect(lastRequest().body).toMatchObject({
      max_tokens: 9,
      stop: ['END'],
      response_format: { type: 'json_object' },
    });
  });

  test.each(['length', 'stop'])('says that it ended by %s', async (finishReason) => {
    app.double.answer({ text: 'So', finishReason });
    const { choices } = await client.chat.completions.create({ model, messages: hello });
    expect(choices[0]?.finish_reason).toBe(finishReason);
  });

  test('keeps what the model thought out of the answer', async () => {
    app.double.answer({ reasoning: 'Let me think about it.', text: 'Four.' });
    const { choices } = await client.chat.completions.create({ model, messages: hello });
    expect(choices[0]?.message).toMatchObject({
      content: 'Four.',
      reasoning_content: 'Let me think about it.',
    });
  });

  test.each(['', 'default'])('takes the default model for the name "%s"', async (name) => {
    app.double.answer({ text: 'By default.' });
    const completion = await client.chat.completions.create({ model: name, messages: hello });
    expect(completion).toMatchObject({ model, choices: [{ message: { content: 'By default.' } }] });
  });

  test('leaves nothing behind: no conversation and no run', async () => {
    app.double.answer({ text: 'Forgotten.' });
    await client.chat.completions.create({ model, messages: hello });
    expect((await app.call('GET', '/api/agent/chat/runs')).body.runs).toEqual([]);
    expect(JSON.stringify((await app.call('GET', '/api/conversations')).body)).not.toContain('Forgotten');
  });
});

describe('a streamed completion', () => {
  test('comes piece by piece, with its usage when that is wanted', async () => {
    app.double.answer({
      text: ['One ', 'two ', 'three'],
      usage: { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2 } },
    });
    const stream = await client.chat.completions.create({
      model,
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('One two three');
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({
      model,
      choices: [],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 5,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 2 },
      },
    });
  });

  test('is collected by the helper of the client', async () => {
    app.double.answer({ reasoning: 'Hm.', text: 'The whole answer.' });
    const final = await client.chat.completions.stream({ model, messages: hello }).finalChatCompletion();
    expect(final.choices[0]).toMatchObject({
      message: { content: 'The whole answer.' },
      finish_reason: 'stop',
    });
  });

  test('stops the provider when the client leaves', async () => {
    app.double.answer({ text: ['One ', 'two ', 'three'], fault: { kind: 'stall', afterChunks: 1 } });
    const at = app.double.requestCount;
    const stream = await client.chat.completions.create({ model, messages: hello, stream: true });
    for await (const _ of stream) break;
    expect(await (await app.double.received(at)).ended).toBe('client_left');
  });
});

test('a blocking completion stops the provider too when the client leaves', async () => {
  app.double.answer({ text: 'Late.', fault: { kind: 'silence' } });
  const at = app.double.requestCount;
  const leaving = new AbortController();
  const answer = client.chat.completions.create({ model, messages: hello }, { signal: leaving.signal });
  const request = await app.double.received(at);
  leaving.abort();
  await expect(answer).rejects.toThrow(OpenAI.APIUserAbortError);
  expect(await request.ended).toBe('client_left');
});

describe("the client's own tools", () => {
  const script = {
    rules: [
      { when: { lastRole: 'tool' }, reply: { text: 'It rains in Ulm.' } },
      {
        when: {},
        reply: {
          toolCalls: [
            { id: 'call_1', name: 'weather', arguments: { town: 'Ulm' } },
            { id: 'call_2', name: 'weather', arguments: { town: 'Bonn' } },
          ],
          toolFragments: 3,
        },
      },
    ],
  };
  const request = {
    model,
    messages: [{ role: 'user' as const, content: 'How is the weather?' }],
    tools: [weatherTool],
    tool_choice: 'required' as const,
    parallel_tool_calls: true,
  };
  const secondRound = (answer: OpenAI.ChatCompletionMessage) => ({
    ...request,
    tool_choice: 'auto' as const,
    messages: [
      ...request.messages,
      answer,
      ...(answer.tool_calls ?? []).map((call) => ({
        role: 'tool' as const,
        tool_call_id: call.id,
        content: 'rain',
      })),
    ],
  });

  test.each(['blocking', 'streamed'])('are called and answered, %s', async (way) => {
    app.double.answer(script);
    const ask = async (params: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
      way === 'blocking'
        ? client.chat.completions.create(params)
        : client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion();

    const first = (await ask(request)).choices[0];
    expect(lastRequest().body).toMatchObject({
      tools: [weatherTool],
      tool_choice: 'required',
      parallel_tool_calls: true,
    });
    expect(first?.finish_reason).toBe('tool_calls');
    expect(first?.message.content).toBeNull();
    expect(first?.message.tool_calls).toMatchObject([
      { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"town":"Ulm"}' } },
      { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"town":"Bonn"}' } },
    ]);

    const second = (await ask(secondRound(first?.message as OpenAI.ChatCompletionMessage))).choices[0];
    expect(second?.message.content).toBe('It rains in Ulm.');
    expect(lastRequest().body.messages?.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      { role: 'tool', tool_call_id: 'call_2', content: 'rain' },
    ]);
  });

  test('may be chosen by name', async () => {
    app.double.answer(script);
    const tool_choice = { type: 'function' as const, function: { name: 'weather' } };
    await client.chat.completions.create({ ...request, tool_choice });
    expect(lastRequest().body.tool_choice).toEqual(tool_choice);
  });
});
