// What goes over the wire: our conversation in the words of each API.

import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../../src/actors/providers/protocol.ts';
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
      system: 'You are Ada.\n\nBe brief.',
      tools: [{ name: 'read_thread', description: 'Reads.', input_schema: TOOL.parameters }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Read it.' }] },
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
            { type: 'text', text: '<system>\nTwo rounds left.\n</system>' },
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
});
