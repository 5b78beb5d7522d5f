import { describe, expect, test } from 'vitest';
import { completeOffline, offlineRoute } from '../../../src/actors/providers/offline-responder.ts';
import type { ModelMessage } from '../../../src/actors/providers/protocol.ts';
import { NO_MEDIA } from '../../../src/actors/providers/request-media.ts';
import { openTransport } from '../../../src/actors/providers/transport.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { type Answer, collect } from './model-calls.ts';

const RECALL = { name: 'recall_user_history', description: '', parameters: {} };
const user = (content: string): ModelMessage => ({ role: 'user', content });
const found = (...contents: readonly string[]): ModelMessage => ({
  role: 'tool',
  toolCallId: 'one',
  name: RECALL.name,
  content: JSON.stringify({
    topic: 't',
    count: contents.length,
    turns: contents.map((content) => ({ content })),
  }),
});

async function ask(
  messages: readonly ModelMessage[],
  tools: readonly (typeof RECALL)[] = [],
  signal = new AbortController().signal,
): Promise<Answer> {
  const { connection, modelId } = offlineRoute(null);
  const transport = openTransport();
  const request = { connection, modelId, messages, tools, temperature: 0.7, maxOutputTokens: null };
  const answer = await collect(
    completeOffline(
      request,
      { transport, clock: systemClock, random: seededRandom(7), media: NO_MEDIA },
      signal,
    ),
  );
  await transport.close();
  return answer;
}

describe('the offline responder', () => {
  test('looks the topic up first, through the tool loop', async () => {
    const answer = await ask([user('What did I say about the garden fence?')], [RECALL]);
    expect(answer.text).toBe('');
    expect(answer.finish).toBe('tool_calls');
    expect(answer.calls).toMatchObject([
      {
        name: 'recall_user_history',
        arguments: { topic: 'say garden fence', limit: 5 },
      },
    ]);
  });

  test('then quotes what was found, and says that no model is configured and how to configure one', async () => {
    const answer = await ask(
      [
        user('What colour is the garden fence?'),
        { role: 'assistant', content: '', toolCalls: [] },
        found('The garden fence is green. The shed is red.', 'I like tea.'),
      ],
      [RECALL],
    );
    expect(answer.finish).toBe('stop');
    expect(answer.calls).toEqual([]);
    expect(answer.text).toContain('No language model is configured');
    expect(answer.text).toContain('> The garden fence is green.');
    expect(answer.text).not.toContain('tea');
    for (const way of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'LMSTUDIO_BASE_URL', '/api/config/update']) {
      expect(answer.text).toContain(way);
    }
    expect(answer.batches.length).toBeGreaterThan(10);
  });

  test('quotes the conversation itself, but neither the house rules nor its own words', async () => {
    const earlier = await ask([user('hello there')]);
    const answer = await ask([
      { role: 'system', content: 'The deployment password policy is secret.' },
      user('Our deployment runs every Tuesday.'),
      { role: 'assistant', content: earlier.text },
      user('When does the deployment run?'),
    ]);
    expect(answer.text).toContain('> Our deployment runs every Tuesday.\n> (earlier in this conversation)');
    expect(answer.text).not.toContain('secret');
    expect(answer.text.match(/No language model is configured/g)).toHaveLength(1);
  });

  test('says so when nothing comes close', async () => {
    const answer = await ask([user('???')], [RECALL]);
    expect(answer.calls).toEqual([]);
    expect(answer.text).toContain('Nothing that is stored here comes close');
  });

  test('answers without the tool where it is not offered', async () => {
    expect((await ask([user('the fence')])).finish).toBe('stop');
  });

  test('finds words of scripts without spaces', async () => {
    const answer = await ask([user('会議は火曜日です。'), user('会議はいつですか')]);
    expect(answer.text).toContain('会議は火曜日です。');
  });

  test('is deterministic, and estimates its usage', async () => {
    const messages = [user('The fence is green.'), user('fence?')];
    const [one, other] = [await ask(messages), await ask(messages)];
    expect(one).toEqual(other);
    expect(one.usage).toEqual({
      inputTokens: 7,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: Math.ceil(one.text.length / 4),
      reasoningTokens: 0,
      cost: null,
    });
  });

  test('ends when it is told to stop', async () => {
    const controller = new AbortController();
    controller.abort();
    expect((await ask([user('fence')], [], controller.signal)).finish).toBeNull();
  });

  test('does not hold its thread for long over a large history', async () => {
    const messages = Array.from({ length: 400 }, (_, n) => user(`Turn ${n} about things. `.repeat(60)));
    const startedMs = performance.now();
    await ask([...messages, user('Turn 7 things')]);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });
});
