// What becomes of a turn when its provider fails, over real HTTP: retried, waited for, salvaged, or told.

import { afterAll, describe, expect, test } from 'vitest';
import type { Reply } from '../../support/provider-double-script.ts';
import { numberingFlaws, orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const HELLO: Reply = { text: 'Hello again.' };
const rateLimited = (retryAfter: string): Reply => ({
  fault: { kind: 'status', status: 429, headers: { 'retry-after': retryAfter } },
});

describe('a provider that limits the rate', () => {
  test('is waited for as long as it says, visibly, and asked again', async () => {
    app.double.answer([rateLimited('0.05'), rateLimited('0.05'), HELLO]);
    const { events } = await app.turn('Hello');
    const waits = payloadsOf(events, 'status').map(({ label }) => label);
    expect(waits).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/Rate-limited by the provider — retrying in 1s \(1\/4\)/),
        expect.stringMatching(/\(2\/4\)/),
      ]),
    );
    expect(textOf(events)).toBe('Hello again.');
  });

  test('is given up after four waits', async () => {
    app.double.answer(rateLimited('0.01'));
    const asked = app.double.requestCount;
    const { events } = await app.turn('Hello');
    expect(app.double.requestCount - asked).toBe(5);
    expect(payloadOf(events, 'error')).toMatchObject({ code: 'provider_rate_limited' });
    expect(orderOf(events).slice(-2)).toEqual(['error', 'close']);
  });

  test('is not waited for when it asks for longer than a turn may look dead', async () => {
    app.double.answer(rateLimited('3600'));
    expect(orderOf((await app.turn('Hello')).events).slice(-2)).toEqual(['error', 'close']);
  });

  test('can be left in the middle of a wait', async () => {
    app.double.answer(rateLimited('60'));
    const { runId, reader } = await app.start('Hello');
    await reader.until('status', ({ label }) => label.startsWith('Rate-limited'));
    expect((await app.cancel(runId)).body).toMatchObject({ cancel_requested: true, status: 'running' });
    expect((await reader.rest()).at(-1)?.event).toBe('close');
    expect(await app.listed(runId)).toMatchObject({ status: 'cancelled' });
  });
});

test('rate limits and other failures do not use up each other’s tries', async () => {
  const failed: Reply = { fault: { kind: 'status', status: 503 } };
  app.double.answer([rateLimited('0.05'), failed, rateLimited('0.05'), HELLO]);
  const { events } = await app.turn('Hello');
  expect(textOf(events)).toBe('Hello again.');
  const labels = payloadsOf(events, 'status').map(({ label }) => label);
  expect(labels).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/\(1\/4\)/),
      'The provider did not answer — trying again (1/1)…',
      expect.stringMatching(/\(2\/4\)/),
    ]),
  );
});

describe('a failure before any output', () => {
  test.each<[string, Reply]>([
    ['a server error', { fault: { kind: 'status', status: 500 } }],
    ['a connection that is cut', { text: 'Lost.', fault: { kind: 'cut', afterChunks: 0 } }],
    ['a chunk that is no JSON', { text: 'Lost.', fault: { kind: 'malformed', afterChunks: 0 } }],
  ])('is tried again, and says so: %s', async (_, failure) => {
    app.double.answer([failure, HELLO]);
    const { events } = await app.turn('Hello');
    expect(textOf(events)).toBe('Hello again.');
    expect(payloadsOf(events, 'status').map(({ label }) => label)).toContain(
      'The provider did not answer — trying again (1/1)…',
    );
    expect(payloadOf(events, 'done').finish_reason).toBe('stop');
  });

  test('that does not pass ends the turn: error, close, and the question is kept', async () => {
    app.double.answer({ fault: { kind: 'status', status: 500, message: 'out of order' } });
    const session_id = 'failed-before-output';
    const { runId, reader } = await app.start('Are you there?', { session_id });
    const [, ...events] = await reader.rest();
    expect(orderOf(events).slice(-2)).toEqual(['error', 'close']);
    expect(payloadOf(events, 'error')).toEqual({
      error: expect.stringContaining('out of order'),
      code: 'provider_unreachable',
    });
    expect(await app.listed(runId)).toMatchObject({ status: 'failed', session_id });
    expect(await app.messages(session_id)).toMatchObject([{ role: 'user', content: 'Are you there?' }]);
  });

  test('that another try would not mend is told at once', async () => {
    app.double.answer({ fault: { kind: 'status', status: 400, message: 'no such parameter' } });
    const asked = app.double.requestCount;
    const { events } = await app.turn('Hello');
    expect(payloadOf(events, 'error').code).toBe('provider_rejected');
    expect(app.double.requestCount - asked).toBe(1);
  });
});

describe('a failure after output', () => {
  const begun = { text: ['The answer ', 'is ', 'nev', 'er seen'] };
  test.each<[string, Reply]>([
    ['a cut', { ...begun, fault: { kind: 'cut', afterChunks: 3 } }],
    ['a chunk that is no JSON', { ...begun, fault: { kind: 'malformed', afterChunks: 3 } }],
    [
      'an error that the provider reports',
      {
        ...begun,
        fault: { kind: 'error_event', afterChunks: 3, message: 'overloaded' },
      },
    ],
  ])('keeps what has come, says that it was cut short, and is done with an error: %s', async (_, reply) => {
    app.double.answer(reply);
    const { events, sessionId, runId } = await app.turn('Tell me');
    const text = textOf(events);
    expect(text).toMatch(/^The answer is nev\n\n\[The answer was cut short: .+\]$/);
    expect(orderOf(events).slice(-3)).toEqual(['chunk', 'done', 'close']);
    expect(payloadOf(events, 'done').finish_reason).toBe('error');
    expect((await app.messages(sessionId)).at(-1)).toMatchObject({ role: 'assistant', content: text });
    expect(await app.listed(runId)).toMatchObject({ status: 'done' });
  });

  test('in the middle of a thought leaves the note outside of the thought', async () => {
    app.double.answer({
      reasoning: 'Let me think about',
      text: 'Lost.',
      fault: { kind: 'cut', afterChunks: 1 },
    });
    const { events } = await app.turn('Tell me');
    expect(textOf(events)).toMatch(/^<think>.+<\/think>\n\n\[The answer was cut short/);
    expect(payloadOf(events, 'done').has_thinking).toBe(true);
  });

  test('runs no half tool call', async () => {
    app.double.answer({
      text: 'I note it.',
      toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'half' } }],
      toolFragments: 4,
      fault: { kind: 'cut', afterChunks: 3 },
    });
    expect(orderOf((await app.turn('Note it')).events)).not.toContain('tool_call');
  });
});

describe('a provider that stalls', () => {
  test('is noticed after its time, and what has come is kept', async () => {
    await app.configure({ providers: { lmstudio: { timeout: 1 } } });
    app.double.answer({ text: ['Wait ', 'for it'], fault: { kind: 'stall', afterChunks: 1 } });
    const { events } = await app.turn('Hello');
    expect(textOf(events)).toMatch(/^Wait \n\n\[The answer was cut short: .*sent nothing for 1 s\]$/);
    await app.configure({ providers: { lmstudio: { timeout: 60 } } });
  });
});

describe('odd streams', () => {
  test('a chunk of 2 MB arrives whole', async () => {
    const chunk = 'ab€😀'.repeat(2 ** 18);
    app.double.answer({ text: [chunk] });
    const { runId, events, sessionId } = await app.turn('Tell me all of it');
    expect(textOf(events)).toBe(chunk);
    expect(textOf(await (await app.attach(runId)).rest())).toBe(chunk);
    expect((await app.messages(sessionId)).at(-1)?.content).toBe(chunk);
  });

  test('characters that are split between packets come out whole', async () => {
    const text = '€uro, 😀, naïve, 漢字';
    app.double.answer({ text, chunkChars: 2, cutEveryBytes: 1 });
    const { events } = await app.turn('Say it');
    expect(textOf(events)).toBe(text);
    expect(numberingFlaws(events)).toEqual([]);
  });
});

test.each([5_000, 50_000])(
  'a call of a tool with arguments of %i levels fails, and the turn goes on',
  async (levels) => {
    const nested = `{"topic":"x","more":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    app.double.answer([{ toolCalls: [{ name: 'recall_user_history', arguments: nested }] }, HELLO]);
    const { events } = await app.turn('Hello');
    expect(textOf(events)).toBe('Hello again.');
    expect(payloadOf(events, 'done').finish_reason).toBe('stop');
  },
);
