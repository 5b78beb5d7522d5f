// The double itself: others trust its timing and its process.

import { connect } from 'node:net';
import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { startProviderDouble } from './provider-double.ts';
import { startProviderDoubleProcess } from './provider-double-process.ts';

const ask = (baseUrl: string, body: object = {}): Promise<Response> =>
  fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello you' }], ...body }),
  });

test('chunks keep their pace, and lateness does not add up', async () => {
  const double = await startProviderDouble({
    script: { text: Array.from({ length: 40 }, (_, n) => `${n} `), chunkDelayMs: 5 },
  });
  const startedMs = performance.now();
  const { body } = await ask(double.baseUrl, { stream: true });
  const decoder = new TextDecoder();
  const chunksRead: number[] = [];
  for await (const bytes of body ?? []) {
    chunksRead.push(decoder.decode(bytes, { stream: true }).split('"content":"').length - 1);
    // Nothing on this thread can be in time: what is due by then comes together.
    if (chunksRead.length === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120);
  }
  expect(performance.now() - startedMs).toBeGreaterThan(195);
  expect(Math.max(...chunksRead)).toBeGreaterThan(10);
  await double.stop();
});

test('a blocking request gets one answer', async () => {
  const double = await startProviderDouble({ script: { text: 'four words are here' } });
  const answer = (await (await ask(double.baseUrl)).json()) as {
    choices: { message: { content: string } }[];
    usage: object;
  };
  expect(answer.choices[0]?.message.content).toBe('four words are here');
  expect(answer.usage).toMatchObject({ completion_tokens: 4 });
  await double.stop();
});

test('the official client understands it', async () => {
  const double = await startProviderDouble({
    script: { text: 'four words are here', toolCalls: [{ name: 'look', arguments: { at: 'it' } }] },
    models: { list: ['double-1', 'double-2'] },
  });
  const client = new OpenAI({ apiKey: 'none', baseURL: double.baseUrl, maxRetries: 0 });
  const models = await client.models.list();
  expect(models.data.map(({ id }) => id)).toEqual(['double-1', 'double-2']);
  const stream = client.chat.completions.stream({
    model: 'double-1',
    messages: [{ role: 'user', content: 'hello' }],
  });
  const [choice] = (await stream.finalChatCompletion()).choices;
  expect(choice?.message.content).toBe('four words are here');
  expect(choice?.message.tool_calls?.[0]).toMatchObject({
    function: { name: 'look', arguments: '{"at":"it"}' },
  });
  await double.stop();
});

test('a queue that is used up says so', async () => {
  const double = await startProviderDouble({ script: [{ text: 'only' }] });
  expect((await ask(double.baseUrl)).status).toBe(200);
  const second = await ask(double.baseUrl);
  expect(second.status).toBe(500);
  expect(await second.text()).toContain('no reply left');
  await double.stop();
});

test('who leaves in the middle of a request is nobody’s bug', async () => {
  const double = await startProviderDouble({ script: { text: 'Hello' } });
  const leaving = connect(double.port, '127.0.0.1');
  leaving.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  await expect.poll(() => double.openCount).toBe(1);
  leaving.destroy();
  await expect.poll(() => double.openCount).toBe(0);
  expect((await ask(double.baseUrl)).status).toBe(200);
  expect(double.requestCount).toBe(1);
  await double.stop();
});

test('rules decide by the conversation', async () => {
  const double = await startProviderDouble({
    script: {
      rules: [
        { when: { lastRole: 'tool' }, reply: { text: 'after the tool' } },
        { when: { lastText: 'hello' }, reply: { text: 'greeting' } },
      ],
    },
  });
  expect(await (await ask(double.baseUrl)).text()).toContain('greeting');
  const messages = [{ role: 'tool', content: 'found' }];
  expect(await (await ask(double.baseUrl, { messages })).text()).toContain('after the tool');
  await double.stop();
});

test('in a process of its own it serves two hundred streams at once and tells what it did', async () => {
  const double = await startProviderDoubleProcess({
    script: { text: Array.from({ length: 20 }, (_, n) => `token${n} `), chunkDelayMs: 5 },
  });
  const texts = await Promise.all(
    Array.from({ length: 200 }, async () => (await ask(double.baseUrl, { stream: true })).text()),
  );
  for (const text of texts) expect(text).toMatch(/token19 .*\[DONE\]\n\n$/s);
  const stats = await double.stats();
  expect(stats).toMatchObject({ requestCount: 200, openCount: 0 });
  expect(stats.cpuMs).toBeGreaterThan(0);
  await double.stop();
  await expect(ask(double.baseUrl)).rejects.toThrow();
});
