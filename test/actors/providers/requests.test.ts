// What goes over the wire: our conversation in the words of each API.

import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../../src/actors/providers/protocol.ts';
import { DOUBLE_SIGNATURE } from '../../support/provider-double-anthropic.ts';
import { openModelCalls } from './model-calls.ts';

const TOOL = {
  name: 'read_thread',
  description: 'Reads.',
  parameters: {
    type: 'object',
    properties: { conversation_id: { type: 'string' } },
    required: ['conversation_id'],
  },
};

const FORMAT = {
  type: 'json_schema',
  json_schema: { name: 'answer', schema: { type: 'object', properties: { n: { type: 'integer' } } } },
} as const;

/** Up to here the messages API is to remember the request. */
const MARK = { cache_control: { type: 'ephemeral' } };

const CONVERSATION: readonly ModelMessage[] = [
  { role: 'system', content: 'You are Ada.' },
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Read it.' },
  {
    role: 'assistant',
    content: '',
    toolCalls: [
      {
        id: 'one',
        name: 'read_thread',
        arguments: { conversation_id: 'c' },
        argumentsText: '{"conversation_id":"c"}',
      },
      { id: 'two', name: 'read_thread', arguments: null, argumentsText: '{"conv' },
    ],
  },
  { role: 'tool', toolCallId: 'one', name: 'read_thread', content: 'the thread' },
  { role: 'user', content: 'Hurry up.' },
  { role: 'tool', toolCallId: 'two', name: 'read_thread', content: 'broken arguments' },
  { role: 'system', content: 'Two rounds left.' },
];

describe('a chat-completions request', () => {
  test('carries the conversation, the tools and the key', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('openai', {
      messages: CONVERSATION,
      tools: [TOOL],
      maxOutputTokens: 100,
      temperature: 0,
    });
    const { body, headers, path } = await calls.double.received(0);
    expect(path).toBe('/v1/chat/completions');
    expect(headers.authorization).toBe('Bearer sk-double-0123456789');
    expect(body).toEqual({
      model: 'double-1',
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      max_completion_tokens: 100,
      tools: [{ type: 'function', function: TOOL }],
      messages: [
        { role: 'system', content: 'You are Ada.' },
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Read it.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'one',
              type: 'function',
              function: { name: 'read_thread', arguments: '{"conversation_id":"c"}' },
            },
            { id: 'two', type: 'function', function: { name: 'read_thread', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'one', name: 'read_thread', content: 'the thread' },
        { role: 'user', content: 'Hurry up.' },
        { role: 'tool', tool_call_id: 'two', name: 'read_thread', content: 'broken arguments' },
        { role: 'system', content: 'Two rounds left.' },
      ],
    });
  });

  test('leaves out the temperature for reasoning models, and uses the old limit elsewhere', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('openai', { modelId: 'gpt-5.2', maxOutputTokens: 9 });
    await calls.ask('openai', { connection: { provider: 'lmstudio', apiKey: null }, maxOutputTokens: 9 });
    const [reasoning, local] = [await calls.double.received(0), await calls.double.received(1)];
    expect(reasoning.body).not.toHaveProperty('temperature');
    expect(local.body).toMatchObject({ temperature: 0.7, max_tokens: 9 });
    expect(local.body).not.toHaveProperty('max_completion_tokens');
    expect(local.headers).not.toHaveProperty('authorization');
  });

  test('carries what differs from what every server takes for granted, and nothing else', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('openai', { topP: 0.5, frequencyPenalty: 1, presencePenalty: -1 });
    await calls.ask('openai', { topP: 1, frequencyPenalty: 0, presencePenalty: 0 });
    await calls.ask('openai', { modelId: 'o3', topP: 0.5 });
    const bodies = await Promise.all([0, 1, 2].map(async (n) => (await calls.double.received(n)).body));
    expect(bodies[0]).toMatchObject({ top_p: 0.5, frequency_penalty: 1, presence_penalty: -1 });
    for (const body of bodies.slice(1)) {
      for (const name of ['top_p', 'frequency_penalty', 'presence_penalty'])
        expect(body).not.toHaveProperty(name);
    }
  });

  test('passes the format of the answer on as it is', async () => {
    await using calls = await openModelCalls({ text: '{}' });
    await calls.ask('openai', { responseFormat: FORMAT });
    expect((await calls.double.received(0)).body.response_format).toEqual(FORMAT);
  });

  test('carries which tool must be called, and where the answer stops', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    const more = { stop: ['END'], seed: 7, parallelToolCalls: false };
    await calls.ask('openai', { tools: [TOOL], toolChoice: { name: TOOL.name }, ...more });
    await calls.ask('openai', { tools: [TOOL], toolChoice: 'required' });
    expect((await calls.double.received(0)).body).toMatchObject({
      tool_choice: { type: 'function', function: { name: TOOL.name } },
      parallel_tool_calls: false,
      stop: ['END'],
      seed: 7,
    });
    const { body } = await calls.double.received(1);
    expect(body.tool_choice).toBe('required');
    expect(body).not.toHaveProperty('stop');
  });

  test('to the aggregator names the site and asks for the bill', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    const headers = { 'http-referer': 'https://example.org', 'x-title': 'Troupe' };
    await calls.ask('openai', { connection: { provider: 'openrouter', kind: 'openrouter', headers } });
    const request = await calls.double.received(0);
    expect(request.headers).toMatchObject(headers);
    expect(request.body).toMatchObject({ usage: { include: true } });
  });
});

describe('a messages request', () => {
  test('splits the system prompt off, alternates turns and puts tool results first', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('anthropic', {
      messages: CONVERSATION,
      tools: [TOOL],
      maxOutputTokens: 100,
      temperature: 2,
    });
    const { body, headers, path } = await calls.double.received(0);
    expect(path).toBe('/v1/messages');
    expect(headers['anthropic-version']).toBeTruthy();
    expect(headers.authorization).toBe('Bearer sk-double-0123456789');
    expect(body).toEqual({
      model: 'double-1',
      max_tokens: 100,
      stream: true,
      system: [
        { type: 'text', text: 'You are Ada.' },
        { type: 'text', text: 'Be brief.', ...MARK },
      ],
      tools: [{ name: 'read_thread', description: 'Reads.', input_schema: TOOL.parameters, ...MARK }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Read it.', ...MARK }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'one', name: 'read_thread', input: { conversation_id: 'c' } },
            { type: 'tool_use', id: 'two', name: 'read_thread', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'one', content: 'the thread' },
            { type: 'tool_result', tool_use_id: 'two', content: 'broken arguments' },
            { type: 'text', text: 'Hurry up.' },
            { type: 'text', text: '<system>\nTwo rounds left.\n</system>', ...MARK },
          ],
        },
      ],
    });
  });

  test('starts with the user and has no empty turn', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('anthropic', {
      messages: [
        { role: 'assistant', content: 'Where were we?' },
        { role: 'user', content: ' ' },
        { role: 'assistant', content: '' },
      ],
    });
    const { body } = await calls.double.received(0);
    expect(body.max_tokens).toBe(4_096);
    expect(body).not.toHaveProperty('system');
    expect(body.messages?.map((message) => message.role)).toEqual(['user', 'assistant']);
  });

  test('marks at most four places, whatever the conversation', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    const turns = Array.from(
      { length: 12 },
      (_, n): ModelMessage =>
        n % 2 === 0
          ? { role: 'user', content: `question ${n}` }
          : { role: 'assistant', content: `answer ${n}` },
    );
    await calls.ask('anthropic', {
      messages: [...CONVERSATION.slice(0, 2), ...turns, ...turns],
      tools: [TOOL, TOOL],
    });
    const text = JSON.stringify((await calls.double.received(0)).body);
    expect(text.split('"cache_control"')).toHaveLength(5);
  });

  test('with one question and no tools marks the system prompt only', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('anthropic', {
      messages: [CONVERSATION[0], { role: 'user', content: 'Hi' }] as ModelMessage[],
    });
    const { body } = await calls.double.received(0);
    expect(JSON.stringify(body.messages)).not.toContain('cache_control');
    expect(JSON.stringify(body.system)).toContain('cache_control');
  });

  test('asks for a schema in its own words, and leaves out what the API does not know', async () => {
    await using calls = await openModelCalls({ text: '{}' });
    await calls.ask('anthropic', { responseFormat: FORMAT });
    await calls.ask('anthropic', { responseFormat: { type: 'json_object' } });
    const [schema, some] = [await calls.double.received(0), await calls.double.received(1)];
    expect(schema.body.output_config).toEqual({
      format: { type: 'json_schema', schema: FORMAT.json_schema.schema },
    });
    expect(some.body).not.toHaveProperty('output_config');
  });

  test.each([
    ['none', { type: 'none' }],
    ['required', { type: 'any', disable_parallel_tool_use: false }],
    [{ name: TOOL.name }, { type: 'tool', name: TOOL.name, disable_parallel_tool_use: false }],
  ] as const)('says in its own words which tool must be called: %o', async (toolChoice, told) => {
    await using calls = await openModelCalls({ text: 'ok' });
    await calls.ask('anthropic', { tools: [TOOL], toolChoice, stop: ['END'] });
    expect((await calls.double.received(0)).body).toMatchObject({
      tool_choice: told,
      stop_sequences: ['END'],
    });
  });

  test('gives the thoughts back that led to a tool call, with their signature, in front of it', async () => {
    await using calls = await openModelCalls([
      { reasoning: 'I should read it.', toolCalls: [{ id: 'one', name: 'read_thread', arguments: {} }] },
      { text: 'ok' },
    ]);
    const question: ModelMessage = { role: 'user', content: 'Read it.' };
    const { calls: toolCalls, text } = await calls.ask('anthropic', { messages: [question], tools: [TOOL] });
    expect(text).toBe('<think>I should read it.</think>');
    await calls.ask('anthropic', {
      messages: [
        question,
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: 'one', name: 'read_thread', content: 'the thread' },
      ],
      tools: [TOOL],
    });
    expect((await calls.double.received(1)).body.messages?.[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I should read it.', signature: DOUBLE_SIGNATURE },
        { type: 'tool_use', id: 'one', name: 'read_thread', input: {} },
      ],
    });
  });
});
