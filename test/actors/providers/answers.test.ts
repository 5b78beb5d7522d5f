// What both adapters make of a provider's answer, over real HTTP.

import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { STREAMS_PER_AGENT_MAX } from '../../../src/actors/providers/agent-group.ts';
import { APIS, type Api, collect, openModelCalls } from './model-calls.ts';

/** `Hello`, as each of them says it. */
const EVENTS: Readonly<Record<Api, string>> = {
  openai: 'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  anthropic: [
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join(''),
};

const LIMERICK = 'Ein Mann aus Überlingen, 日本語の文字, 🧪🪐 und ein „Zitat“ — fertig.';

describe.each(APIS)('an answer of the %s API', (api) => {
  test('comes as text in order and ends with its finish reason and usage', async () => {
    await using calls = await openModelCalls({ text: ['Hello', ', ', 'world'], chunkDelayMs: 2 });
    const answer = await calls.ask(api);
    expect(answer.text).toBe('Hello, world');
    expect(answer.finish).toBe('stop');
    expect(answer.usage).toMatchObject({ outputTokens: 2, reasoningTokens: 0, cost: null });
    expect(answer.usage?.inputTokens).toBeGreaterThan(0);
  });

  test('is handed out while it is being made, not at its end', async () => {
    await using calls = await openModelCalls({
      text: ['one', 'two'],
      fault: { kind: 'stall', afterChunks: 1 },
    });
    const stream = calls.stream(api);
    const first = await stream.next();
    expect(first.value).toEqual([{ kind: 'text', text: 'one' }]);
    calls.double.release();
    const second = await stream.next();
    expect(second.value?.[0]).toEqual({ kind: 'text', text: 'two' });
    await stream.return?.();
  });

  test('waits for no other one, however many are under way', async () => {
    const count = STREAMS_PER_AGENT_MAX + 2;
    await using calls = await openModelCalls({ fault: { kind: 'silence' } });
    const leaving = new AbortController();
    const change = { connection: { timeoutMs: 60_000 } };
    const answers = Array.from({ length: count }, () => collect(calls.stream(api, leaving.signal, change)));
    await calls.double.received(count - 1);
    leaving.abort();
    await Promise.all(answers);
    expect(await (await calls.double.received(0)).ended).toBe('client_left');
  });

  test('is whole when the connection breaks behind its end', async () => {
    const events = EVENTS[api].split('\n\n').slice(0, -2).join('\n\n');
    await using server = await startRawServer(
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n${events}\n\n`,
    );
    await using calls = await openModelCalls({ text: 'never' });
    const answer = await calls.ask(api, { connection: { baseUrl: server.url } });
    expect(answer).toMatchObject({ text: 'Hello', finish: 'stop' });
  });

  test('may be announced by an interim response', async () => {
    await using server = await startRawServer(
      'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n',
      `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${EVENTS[api]}`,
    );
    await using calls = await openModelCalls({ text: 'never' });
    const answer = await calls.ask(api, { connection: { baseUrl: server.url } });
    expect(answer).toMatchObject({ text: 'Hello', finish: 'stop' });
  });

  test('that arrives at once is one batch', async () => {
    await using calls = await openModelCalls({ text: Array.from({ length: 200 }, (_, n) => `${n} `) });
    const answer = await calls.ask(api);
    expect(answer.text.split(' ')).toHaveLength(201);
    // Two hundred chunks in a handful of reads; the last batch is the finish.
    expect(answer.batches.length).toBeLessThan(20);
  });

  test('survives characters that are cut between two packets', async () => {
    await using calls = await openModelCalls({ text: LIMERICK, chunkChars: 5, cutEveryBytes: 3 });
    expect((await calls.ask(api)).text).toBe(LIMERICK);
  });

  test('may have a chunk of 2 MB', async () => {
    const large = 'x'.repeat(2 * 1024 * 1024);
    await using calls = await openModelCalls({ text: ['a', large, 'b'] });
    const answer = await calls.ask(api);
    expect(answer.text.length).toBe(large.length + 2);
    expect(answer.finish).toBe('stop');
  });

  test('may be empty', async () => {
    await using calls = await openModelCalls({ text: '' });
    const answer = await calls.ask(api);
    expect(answer.text).toBe('');
    expect(answer.finish).toBe('stop');
  });

  test('that hit its limit says so', async () => {
    const finishReason = api === 'openai' ? 'length' : 'max_tokens';
    await using calls = await openModelCalls({ text: 'cut off', finishReason });
    expect((await calls.ask(api)).finish).toBe('length');
  });

  test('has its reasoning between think tags, before the text', async () => {
    await using calls = await openModelCalls({ reasoning: 'let me see', text: 'four', chunkChars: 4 });
    expect((await calls.ask(api)).text).toBe('<think>let me see</think>four');
  });

  test('closes the think tag before a tool call', async () => {
    await using calls = await openModelCalls({
      reasoning: 'a tool',
      toolCalls: [{ name: 'add', arguments: {} }],
    });
    const answer = await calls.ask(api);
    expect(answer.text).toBe('<think>a tool</think>');
    expect(answer.finish).toBe('tool_calls');
  });

  test('has its tool calls whole, though they come in fragments and in parallel', async () => {
    const first = {
      id: 'one',
      name: 'read_thread',
      arguments: { conversation_id: 'current', note: 'Grüße 🪐' },
    };
    const second = { id: 'two', name: 'checkpoint', arguments: { summary: 'half', decisions: ['a', 'b'] } };
    await using calls = await openModelCalls({
      text: 'Looking.',
      toolCalls: [first, second],
      toolFragments: 7,
      chunkDelayMs: 1,
    });
    const answer = await calls.ask(api);
    expect(answer.text).toBe('Looking.');
    expect(answer.finish).toBe('tool_calls');
    expect(answer.calls).toEqual([
      { ...first, argumentsText: JSON.stringify(first.arguments) },
      { ...second, argumentsText: JSON.stringify(second.arguments) },
    ]);
  });

  test('tells broken tool arguments from none', async () => {
    await using calls = await openModelCalls({
      toolCalls: [
        { id: 'a', name: 'broken', arguments: '{"key": ' },
        { id: 'b', name: 'list', arguments: '[1]' },
        { id: 'c', name: 'none', arguments: '' },
      ],
    });
    const answer = await calls.ask(api);
    expect(answer.calls.map((call) => call.arguments)).toEqual([null, null, {}]);
    expect(answer.calls[0]?.argumentsText).toBe('{"key": ');
  });

  test('leaves its connection to the next call', async () => {
    await using calls = await openModelCalls({ text: 'ok' });
    const sources = new Set<unknown>();
    for (let n = 0; n < 8; n += 1) {
      await calls.ask(api);
      const request = await calls.double.received(n);
      expect(await request.ended).toBe('sent');
      sources.add(request.clientPort);
    }
    // A call may come before the end of the one before it was read, hence two and not one.
    expect(sources.size).toBeLessThanOrEqual(2);
  });
});

describe('a messages answer', () => {
  test('counts what came from the cache and what went into it as input, and prices it so', async () => {
    await using calls = await openModelCalls({
      text: 'ok',
      usage: {
        input_tokens: 100,
        cache_read_input_tokens: 2_000,
        cache_creation_input_tokens: 300,
        output_tokens: 10,
      },
    });
    const price = { inputPer1k: 3, outputPer1k: 15, cacheReadPer1k: 0.3, cacheWritePer1k: 3.75 };
    expect((await calls.ask('anthropic', { price })).usage).toEqual({
      inputTokens: 2_400,
      cacheReadTokens: 2_000,
      cacheWriteTokens: 300,
      outputTokens: 10,
      reasoningTokens: 0,
      cost: { usd: 0.3 + 0.6 + 1.125 + 0.15, source: 'estimate' },
    });
  });
});

describe('a chat-completions answer', () => {
  test('may name its reasoning in the other way', async () => {
    await using calls = await openModelCalls({ reasoning: 'hm', reasoningField: 'reasoning', text: 'yes' });
    expect((await calls.ask('openai')).text).toBe('<think>hm</think>yes');
  });

  test('gets ids for the tool calls whose provider forgets them', async () => {
    await using calls = await openModelCalls({
      toolCalls: [
        { id: null, name: 'first', arguments: { n: 1 } },
        { id: null, name: 'second', arguments: { n: 2 } },
      ],
      toolFragments: 3,
    });
    const answer = await calls.ask('openai');
    expect(answer.calls.map((call) => call.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    const ids = answer.calls.map((call) => call.id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/);
  });

  test('reports reasoning tokens and what the provider billed', async () => {
    await using calls = await openModelCalls({
      text: 'ok',
      usage: {
        completion_tokens_details: { reasoning_tokens: 12 },
        prompt_tokens_details: { cached_tokens: 7 },
        cost: 0.00042,
      },
    });
    expect((await calls.ask('openai')).usage).toMatchObject({
      reasoningTokens: 12,
      cacheReadTokens: 7,
      cost: { usd: 0.00042, source: 'provider' },
    });
  });

  test('without usage says that it has none', async () => {
    await using calls = await openModelCalls({ text: 'ok', usage: null });
    expect((await calls.ask('openai')).usage).toBeNull();
  });

  test('is complete once it gave its finish reason, though the connection breaks after it', async () => {
    await using calls = await openModelCalls({ text: 'done', fault: { kind: 'cut_after_finish' } });
    const answer = await calls.ask('openai');
    expect(answer).toMatchObject({ text: 'done', finish: 'stop', usage: null });
  });
});

/** Answers every connection with these pieces, as they are. */
async function startRawServer(...pieces: readonly string[]) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      for (const piece of pieces) socket.write(piece);
      socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
