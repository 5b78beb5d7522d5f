// The walk down the chain of models when a provider fails for good, over real HTTP.

import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { providers } from '../../../src/actors/providers/protocol.ts';
import { type ProviderDouble, startProviderDouble } from '../../support/provider-double.ts';
import type { Reply } from '../../support/provider-double-script.ts';
import { orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
const second = await startProviderDouble({
  script: {},
  models: { list: [{ id: 'second-1', pricing: { prompt: '0.000001', completion: '0.000002' } }] },
});
await app.configure({ providers: { openai: { api_key: 'sk-second-0123456789', base_url: second.baseUrl } } });
afterAll(async () => {
  await app.close();
  await second.stop();
});

/** As after a turn that it answered, whatever has been met before. */
function recovered(provider: string, { baseUrl }: ProviderDouble): void {
  app.troupe.system.named(providers).tell('met', { provider, baseUrl, healthy: true });
}

beforeEach(() => {
  app.double.answer({ text: 'Hello from the first.' });
  second.answer({ text: 'Hello from the second.' });
  recovered('lmstudio', app.double);
  recovered('openai', second);
});

const failing = (status: number): Reply => ({
  fault: { kind: 'status', status, message: 'out of order', headers: { 'retry-after': '0.01' } },
});
const FALLBACK = 'requested lmstudio:double-1 unavailable, using openai:second-1';

describe('before the first token', () => {
  test.each<[string, Reply, number]>([
    ['a server error', failing(500), 2],
    ['a rate limit, after the waits', failing(429), 5],
    ['a connection that is cut', { text: 'Lost.', fault: { kind: 'cut', afterChunks: 0 } }, 2],
  ])(
    '%s leads to the next model, which is told and has its name on the answer',
    async (_, failure, tries) => {
      app.double.answer(failure);
      const asked = app.double.requestCount;
      const { events, sessionId } = await app.turn('Hello');
      expect(app.double.requestCount - asked).toBe(tries);
      const told = payloadsOf(events, 'status').filter(({ phase }) => phase === 'model_fallback');
      expect(told).toEqual([{ phase: 'model_fallback', label: FALLBACK, detail: 'openai:second-1' }]);
      expect(textOf(events)).toBe('Hello from the second.');
      expect(payloadOf(events, 'start').model).toBe('double-1');
      expect(payloadOf(events, 'done')).toMatchObject({
        model: 'second-1',
        provider: 'openai',
        finish_reason: 'stop',
        cost_estimate: expect.any(Number),
        cost_currency: 'USD',
        cost_source: 'estimate',
        pricing_snapshot: { cost_per_1k_input: 0.001, cost_per_1k_output: 0.002 },
      });
      expect((await app.messages(sessionId)).at(-1)).toMatchObject({
        role: 'assistant',
        metadata: { model: 'second-1', provider: 'openai', cost_source: 'estimate' },
      });
    },
  );

  test('a silent provider leads to the next model', async () => {
    await app.configure({ providers: { lmstudio: { timeout: 1 } } });
    app.double.answer({ fault: { kind: 'silence' } });
    const { events } = await app.turn('Hello');
    expect(payloadOf(events, 'done').model).toBe('second-1');
    await app.configure({ providers: { lmstudio: { timeout: 60 } } });
  });

  test('a provider that is not there leads to the next model', async () => {
    // A port that nobody is given: one that was just free might be another test's by now.
    await app.call('POST', '/api/providers/custom', { id: 'gone', base_url: 'http://127.0.0.1:81/v1' });
    await app.call('GET', '/api/providers/health');
    await app.configure({ preferences: { default_model: 'openai:second-1' } });
    const { events } = await app.turn('Hello', { model: 'gone:model' });
    expect(payloadOf(events, 'done').model).toBe('second-1');
    await app.configure({ preferences: { default_model: null } });
    await app.call('DELETE', '/api/providers/custom/gone');
  });

  test('a refusal is told at once: the next one would refuse it too', async () => {
    app.double.answer(failing(400));
    const { events } = await app.turn('Hello');
    expect(payloadOf(events, 'error').code).toBe('provider_rejected');
    expect(orderOf(events)).not.toContain('status(model_fallback)');
  });

  test('nothing leads anywhere when fallback is switched off', async () => {
    const settings = app.troupe.system.named(config);
    await settings.ask('assign', { 'models.fallback_enabled': false });
    app.double.answer(failing(500));
    const { events } = await app.turn('Hello');
    expect(payloadOf(events, 'error').error).toContain('lmstudio answered 500');
    await settings.ask('assign', { 'models.fallback_enabled': true });
  });

  test('a model without room for the prompt is passed over', async () => {
    await app.troupe.system.named(config).ask('assign', {
      'context_limits.models': {
        'lmstudio:double-1': { context_window: 100_000 },
        'openai:second-1': { context_window: 1_024 },
      },
    });
    app.double.answer(failing(500));
    const { events } = await app.turn('word '.repeat(900));
    expect(payloadOf(events, 'error').error).toContain('lmstudio answered 500');
    await app.troupe.system.named(config).ask('assign', { 'context_limits.models': {} });
  });

  test('the error is that of the last model when all of them fail', async () => {
    app.double.answer(failing(500));
    second.answer(failing(503));
    const { events } = await app.turn('Hello');
    expect(payloadOf(events, 'error').error).toContain('openai answered 503');
    expect(orderOf(events).slice(-2)).toEqual(['error', 'close']);
  });
});

test('after the first token the answer stays with its model', async () => {
  app.double.answer({ text: ['Begun, ', 'and ', 'lost'], fault: { kind: 'cut', afterChunks: 2 } });
  const { events } = await app.turn('Hello');
  expect(textOf(events)).toMatch(/^Begun, and /);
  expect(payloadOf(events, 'done')).toMatchObject({ model: 'double-1', finish_reason: 'error' });
});

test('the rest of the turn stays with the model that took over', async () => {
  app.double.answer(failing(500));
  second.answer([
    { toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'remember' } }] },
    { text: 'Noted.' },
  ]);
  const asked = app.double.requestCount;
  const { events } = await app.turn('Note it');
  expect(textOf(events)).toBe('Noted.');
  expect(app.double.requestCount - asked).toBe(2);
  expect(orderOf(events).filter((name) => name === 'status(model_fallback)')).toHaveLength(1);
});

test('the next turn does not ask a provider that just failed, and says so before anything else', async () => {
  app.double.answer(failing(500));
  await app.turn('Hello');
  app.double.answer({ text: 'Back again.' });
  const asked = app.double.requestCount;
  const { events } = await app.turn('Hello');
  expect(app.double.requestCount).toBe(asked);
  expect(orderOf(events)[0]).toBe('status(model_fallback)');
  expect(payloadOf(events, 'start').model).toBe('second-1');
  recovered('lmstudio', app.double);
  expect(textOf((await app.turn('Hello')).events)).toBe('Back again.');
});
