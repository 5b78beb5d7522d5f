// What both adapters make of a provider's failures, over real HTTP.

import { describe, expect, test } from 'vitest';
import { CALL_MS_MAX } from '../../../src/actors/providers/adapter.ts';
import { ANSWER_BYTES_MAX } from '../../../src/actors/providers/transport.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { type Fault, isFault } from '../../../src/std/errors.ts';
import { freePort } from '../../support/free-port.ts';
import { startProviderDouble } from '../../support/provider-double.ts';
import { API_KEY, APIS, collect, failure, openModelCalls } from './model-calls.ts';

const status = (code: number, headers: Record<string, string> = {}, message?: string) => ({
  fault: { kind: 'status', status: code, headers, ...(message === undefined ? {} : { message }) } as const,
});

describe.each(APIS)('a failure of the %s API', (api) => {
  test('429 is a rate limit, with the wait that the provider asks for', async () => {
    await using calls = await openModelCalls([
      status(429),
      status(429, { 'retry-after': '7' }),
      status(429, { 'retry-after-ms': '250', 'retry-after': '1' }),
      status(429, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
      status(429, { 'retry-after': 'soon' }),
    ]);
    const waits: unknown[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { error } = await failure(calls.stream(api));
      expect(error).toMatchObject({ code: 'provider_rate_limited', retryable: true });
      waits.push((error as Fault).retryAfterMs);
    }
    expect(waits).toEqual([undefined, 7_000, 250, 0, undefined]);
    // The SDKs must not retry behind the run's back.
    expect(calls.double.requestCount).toBe(5);
  });

  test.each([500, 502, 503, 529])('%i is unreachable, and may be tried again', async (code) => {
    await using calls = await openModelCalls(status(code, {}, 'upstream is down'));
    const { error } = await failure(calls.stream(api));
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: true });
    expect((error as Fault).message).toBe(`${api} answered ${code}: upstream is down`);
    expect(calls.double.requestCount).toBe(1);
  });

  test.each([
    [400, 'provider_rejected'],
    [401, 'provider_denied'],
    [402, 'provider_denied'],
    [403, 'provider_denied'],
    [404, 'provider_rejected'],
    [422, 'provider_rejected'],
  ])('%i is a refusal, and is not tried again', async (answered, code) => {
    await using calls = await openModelCalls(status(answered, {}, 'no'));
    const { error } = await failure(calls.stream(api));
    expect(error).toMatchObject({ code, retryable: false });
  });

  test('an error body that echoes the key does not carry it further', async () => {
    await using calls = await openModelCalls(
      status(401, {}, `Incorrect API key provided: ${API_KEY}. Or was it sk-proj-abcdef123456?`),
    );
    const { error } = await failure(calls.stream(api));
    expect((error as Fault).message).toContain('Incorrect API key provided: ***');
    expect(JSON.stringify(error) + (error as Fault).message).not.toMatch(/0123456789|abcdef/);
  });

  test('a connection refused is unreachable', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}/v1`;
    await using calls = await openModelCalls({});
    const { error } = await failure(calls.stream(api, undefined, { connection: { baseUrl } }));
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: true });
    expect((error as Fault).message).toBe(`${api} is not reachable: ECONNREFUSED`);
  });

  test('a cut connection before any text may be tried again', async () => {
    await using calls = await openModelCalls({ text: ['a'], fault: { kind: 'cut', afterChunks: 0 } });
    const { text, error } = await failure(calls.stream(api));
    expect(text).toBe('');
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: true });
  });

  test('a cut connection after text keeps the text and may not be tried again', async () => {
    await using calls = await openModelCalls({
      text: ['partial ', 'answer', 'lost'],
      fault: { kind: 'cut', afterChunks: 2 },
    });
    const { text, error } = await failure(calls.stream(api));
    expect(text).toBe('partial answer');
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: false });
  });

  test('a stream that ends without a finish reason is unfinished', async () => {
    await using calls = await openModelCalls({ text: ['half'], finishReason: null });
    const { text, error } = await failure(calls.stream(api));
    expect(text).toBe('half');
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: false });
  });

  test('silence in mid-stream is noticed', async () => {
    await using calls = await openModelCalls({
      text: ['one', 'two'],
      fault: { kind: 'stall', afterChunks: 1 },
    });
    // Not so little that the first word would be late on a busy machine.
    const { text, error } = await failure(calls.stream(api, undefined, { connection: { timeoutMs: 1_500 } }));
    expect(text).toBe('one');
    expect(error).toMatchObject({ code: 'provider_stalled', retryable: false });
    expect((error as Fault).message).toBe(`${api} sent nothing for 1.5 s`);
  });

  test('silence before the first byte is noticed, and may be tried again', async () => {
    await using calls = await openModelCalls({ fault: { kind: 'silence' } });
    const { error } = await failure(calls.stream(api, undefined, { connection: { timeoutMs: 500 } }));
    expect(error).toMatchObject({ code: 'provider_stalled', retryable: true });
    expect(await (await calls.double.received(0)).ended).toBe('client_left');
  });

  test('a chunk that is no JSON makes no sense, and what came before it is kept', async () => {
    await using calls = await openModelCalls({
      text: ['good', 'bad'],
      fault: { kind: 'malformed', afterChunks: 1 },
    });
    const { text, error } = await failure(calls.stream(api));
    expect(text).toBe('good');
    expect(error).toMatchObject({ code: 'provider_malformed', retryable: false });
  });

  test('an error inside of the stream is a failure of the provider', async () => {
    await using calls = await openModelCalls({
      text: ['good'],
      fault: { kind: 'error_event', afterChunks: 1, message: 'the machine is overloaded' },
    });
    const { text, error } = await failure(calls.stream(api));
    expect(text).toBe('good');
    expect(error).toMatchObject({ code: 'provider_unreachable', retryable: false });
    expect((error as Fault).message).toContain('the machine is overloaded');
  });

  test('an answer beyond the bound is ended', async () => {
    const mebibyte = 'x'.repeat(1024 * 1024);
    const text = Array.from({ length: ANSWER_BYTES_MAX / mebibyte.length + 1 }, () => mebibyte);
    await using calls = await openModelCalls({ text });
    const { error } = await failure(calls.stream(api));
    expect(error).toMatchObject({ code: 'provider_malformed', retryable: false });
    expect((error as Fault).message).toContain('larger than is accepted');
  });

  test('stopping the stream aborts the request at once', async () => {
    await using calls = await openModelCalls({
      text: ['one', 'two'],
      fault: { kind: 'stall', afterChunks: 1 },
    });
    const stream = calls.stream(api);
    await stream.next();
    await stream.return?.();
    expect(await (await calls.double.received(0)).ended).toBe('client_left');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test.each([
    ['in mid-stream', { text: ['one', 'two'], fault: { kind: 'stall', afterChunks: 1 } } as const],
    ['before the first byte', { fault: { kind: 'silence' } } as const],
  ])('an aborted signal ends the stream and its request %s', async (_when, script) => {
    await using calls = await openModelCalls(script);
    const controller = new AbortController();
    const answer = collect(calls.stream(api, controller.signal));
    const request = await calls.double.received(0);
    controller.abort();
    expect((await answer).finish).toBeNull();
    expect(await request.ended).toBe('client_left');
  });

  test('a redirect is told, and not followed: the key would go with it', async () => {
    const elsewhere = await startProviderDouble({ script: { text: 'never' } });
    await using calls = await openModelCalls(status(307, { location: elsewhere.baseUrl }, 'moved'));
    const { error } = await failure(calls.stream(api));
    expect(error).toMatchObject({ code: 'provider_rejected', message: `${api} answered 307: moved` });
    expect(elsewhere.requestCount).toBe(0);
    await elsewhere.stop();
  });

  test('an address that the egress guard refuses is not asked', async () => {
    await using calls = await openModelCalls({ text: 'never' });
    const { error } = await failure(calls.stream(api, undefined, { connection: { egress: 'public_only' } }));
    expect(error).toMatchObject({ code: 'provider_address_refused', kind: 'forbidden', retryable: false });
    expect((error as Fault).message).toBe(
      `${api} is not asked: 127.0.0.1 has a loopback address, which is not allowed here`,
    );
    expect(calls.double.requestCount).toBe(0);
  });

  test('an answer that goes on for too long is given up, and what has come is kept', async () => {
    let giveUp = (): void => undefined;
    const clock = {
      ...systemClock,
      startTimer(delayMs: number, fire: () => void) {
        expect(delayMs).toBe(CALL_MS_MAX);
        giveUp = fire;
        return { cancel: () => undefined };
      },
    };
    await using calls = await openModelCalls(
      { text: ['on ', 'and on'], fault: { kind: 'stall', afterChunks: 1 } },
      clock,
    );
    const outcome = failure(
      (async function* () {
        for await (const batch of calls.stream(api)) {
          yield batch;
          if (batch.some((delta) => delta.kind === 'text')) giveUp();
        }
      })(),
    );
    const { text, error } = await outcome;
    expect(text).toBe('on ');
    expect(error).toMatchObject({ code: 'provider_stalled', retryable: false });
    expect((error as Fault).message).toBe(`${api} did not end its answer within 1800 s`);
    expect(await (await calls.double.received(0)).ended).toBe('client_left');
  });

  test('an already aborted signal asks nobody', async () => {
    await using calls = await openModelCalls({ text: 'never' });
    expect((await collect(calls.stream(api, AbortSignal.abort()))).batches).toEqual([]);
    expect(calls.double.requestCount).toBe(0);
  });

  test('a slow reader does not lose anything', async () => {
    const text = Array.from({ length: 60 }, (_, n) => `${n}:${'y'.repeat(64 * 1024)};`);
    await using calls = await openModelCalls({ text });
    const stream = calls.stream(api);
    let received = '';
    for await (const batch of stream) {
      for (const delta of batch) if (delta.kind === 'text') received += delta.text;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(received).toBe(text.join(''));
  });
});

describe('a failure of a chat-completions endpoint', () => {
  test('an account without credit is a refusal, though it says 429', async () => {
    await using calls = await openModelCalls({
      fault: { kind: 'status', status: 429, code: 'insufficient_quota', message: 'no credit' },
    });
    const { error } = await failure(calls.stream('openai'));
    expect(error).toMatchObject({ code: 'provider_denied' });
  });

  test('a page instead of a stream is told as such', async () => {
    await using calls = await openModelCalls({ text: 'irrelevant', blocking: true });
    const { error } = await failure(calls.stream('openai'));
    expect(isFault(error, 'provider_malformed')).toBe(true);
    expect((error as Fault).message).toBe('openai answered application/json instead of an event stream');
  });
});
