// What completions cost: in the ledger, and within the budgets.

import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { DOUBLE_MODEL, openTroupe, type TestTroupe } from '../../support/troupe.ts';
import { hello, openaiClient } from './openai-client.ts';

const model = DOUBLE_MODEL;
const report = async (app: TestTroupe) => (await app.call('GET', '/api/metrics/usage')).body;

test('a direct completion is a turn in the ledger, from the API', async () => {
  await using app = await openTroupe({
    script: { text: 'So much.', usage: { prompt_tokens: 100, completion_tokens: 10, cost: 0.25 } },
  });
  const client = openaiClient(app);
  await client.chat.completions.create({ model, messages: hello });
  await Array.fromAsync(await client.chat.completions.create({ model, messages: hello, stream: true }));
  expect((await report(app)).by_source).toMatchObject([
    { source: 'api', turns: 2, tokens_input: 200, tokens_output: 20, cost_total: 0.5 },
  ]);
});

test('what was said before the client left is entered as an estimate', async () => {
  await using app = await openTroupe({
    script: { text: ['Twelve chars', 'more'], fault: { kind: 'stall', afterChunks: 1 } },
  });
  const stream = await openaiClient(app).chat.completions.create({ model, messages: hello, stream: true });
  for await (const { choices } of stream) if (choices[0]?.delta.content) break;
  await eventually(async () => (await report(app)).totals.tokens_output).toBe(3);
});

test('an agent is a chat like any other', async () => {
  await using app = await openTroupe();
  await openaiClient(app).chat.completions.create({ model: 'agent:default', messages: hello });
  await eventually(async () => (await report(app)).by_source).toMatchObject([{ source: 'chat', turns: 1 }]);
});

test('a budget that is used up stops completions before they reach a provider', async () => {
  await using app = await openTroupe({
    script: { text: 'Dear.', usage: { prompt_tokens: 1, completion_tokens: 1, cost: 2 } },
  });
  const client = openaiClient(app);
  await app.configure({ budgets: { daily_usd: 1 } });
  await client.chat.completions.create({ model, messages: hello });
  for (const wanted of [model, 'agent:default']) {
    await expect(client.chat.completions.create({ model: wanted, messages: hello })).rejects.toMatchObject({
      status: 422,
      code: 'budget_exceeded',
    });
  }
  expect(app.double.requestCount).toBe(1);
});

test('what was reserved for calls that came to nothing is free again', async () => {
  await using app = await openTroupe({
    // A thousand tokens of output, which is what a call reserves, are a dollar: there is room for one at a time.
    models: { list: [{ id: 'double-1', pricing: { prompt: '0', completion: '0.001' } }] },
    script: { fault: { kind: 'silence' } },
  });
  const client = openaiClient(app);
  await app.configure({ budgets: { daily_usd: 1.5 } });
  const leaving = new AbortController();
  const left = client.chat.completions.create({ model, messages: hello }, { signal: leaving.signal });
  await app.double.received(0);
  const second = () => client.chat.completions.create({ model, messages: hello }).catch(({ code }) => code);
  expect(await second()).toBe('budget_exceeded');
  leaving.abort();
  await expect(left).rejects.toThrow('aborted');
  app.double.answer({ fault: { kind: 'status', status: 400 } });
  await eventually(second).toBe('provider_rejected');
  expect(await second()).toBe('provider_rejected');
});
