import { expect, onTestFinished, test } from 'vitest';
import { usage } from '../../../src/actors/usage/protocol.ts';
import { isFault } from '../../../src/std/errors.ts';
import { startProviderDouble } from '../../support/provider-double.ts';
import { letterCounts } from '../../support/provider-double-openai.ts';
import type { Script } from '../../support/provider-double-script.ts';
import { cosine, openEmbeddings } from './embeddings-system.ts';

const KEY = 'sk-0123456789abcdefghij';

async function openRemote(script: Script = {}, settings: Readonly<Record<string, unknown>> = {}) {
  const double = await startProviderDouble({ script });
  onTestFinished(() => double.stop());
  const opened = await openEmbeddings({
    environment: { OPENAI_API_KEY: KEY },
    settings: {
      providers: { openai: { base_url: double.baseUrl } },
      embeddings: { remote_model: 'openai:text-embedding-double', ...settings },
    },
  });
  const inputs = () => double.requests.map(({ body }) => body.input);
  return { ...opened, double, inputs };
}

function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / length);
}

test('a remote engine is locked with what its endpoint makes of a text, and asked with its key', async () => {
  const { status, embed, double } = await openRemote();
  expect(await status()).toMatchObject({
    current: { provider: 'openai', model: 'text-embedding-double', dimensions: 8 },
    state: 'ready',
    error: null,
  });
  const vectors = await embed(['river', 'a longer text'], { priority: 'bulk' });
  for (const [at, text] of ['river', 'a longer text'].entries())
    expect(cosine(vectors[at] as Float32Array, unit(letterCounts(text)))).toBeCloseTo(1, 5);
  const [first] = double.requests;
  expect(first?.headers['authorization']).toBe(`Bearer ${KEY}`);
  expect(first?.path).toBe('/v1/embeddings');
});

test('texts of several requests go together, each once, and not again', async () => {
  // A second thread would ask for a word of its own, to see what the model gives.
  const { embed, inputs } = await openRemote({}, { threads: 1 });
  const asked = ['one', 'two', 'two', 'three'].map((text) => embed([text, 'shared'], { priority: 'bulk' }));
  await Promise.all(asked);
  const texts = inputs().slice(1).flat();
  expect(texts.toSorted()).toEqual(['one', 'shared', 'three', 'two']);
  const requests = inputs().length;
  await embed(['two', 'shared', 'one']);
  expect(inputs()).toHaveLength(requests);
});

test('prefixes and dimensions go with it, and long lists in bounded requests', async () => {
  const { embed, double, inputs, status } = await openRemote(
    {},
    { query_prefix: 'Q ', passage_prefix: 'P ', dimensions: 4 },
  );
  expect(await status()).toMatchObject({ current: { dimensions: 4 } });
  await embed(['river'], { kind: 'query' });
  await embed(['river'], { kind: 'passage' });
  expect(inputs().slice(1)).toEqual([['Q river'], ['P river']]);
  expect(double.requests.at(-1)?.body).toMatchObject({ model: 'text-embedding-double', dimensions: 4 });
  const many = Array.from({ length: 300 }, (_, n) => `text ${n}`);
  expect(await embed(many, { priority: 'bulk' })).toHaveLength(300);
  for (const input of inputs()) expect((input as string[]).length).toBeLessThanOrEqual(32);
});

test('a rate limit is waited for as the endpoint says, and other passing failures are tried again', async () => {
  const { embed, inputs, double } = await openRemote();
  const limited = { fault: { kind: 'status', status: 429, headers: { 'retry-after': '0' } } } as const;
  double.answer([limited, { fault: { kind: 'status', status: 503, headers: { 'retry-after': '0' } } }, {}]);
  expect(await embed(['river'])).toHaveLength(1);
  expect(inputs().slice(1)).toEqual([['river'], ['river'], ['river']]);
});

test.each([413, 500])(
  'a text at which the endpoint answers %i costs no other its vector; an endpoint that does so always is told apart',
  async (status) => {
    const { embed, double } = await openRemote({}, { threads: 1 });
    const refused = { fault: { kind: 'status', status, headers: { 'retry-after': '0' } } } as const;
    const long = 'far too long for the model';
    double.answer(({ body }) => ((body.input as string[]).includes(long) ? refused : {}));
    const asked = ['river', long, 'bank'].map((text) => embed([text], { priority: 'bulk' }));
    const settled = await Promise.allSettled(asked);
    expect(settled).toMatchObject([
      { status: 'fulfilled' },
      { reason: { code: 'text_unworkable', message: `openai answered ${status}` } },
      { status: 'fulfilled' },
    ]);
    double.answer(() => refused);
    await expect(embed(['stream'])).rejects.toMatchObject({ code: 'embedding_failed' });
  },
);

test('what was used is in the ledger, and beyond a budget no text is sent', async () => {
  const { embed, double, inputs, system, configure } = await openRemote({}, { threads: 1 });
  const embeddingsUsed = async () => (await system.named(usage).ask('report', {})).by_source;
  await embed(['the river flows', 'by the bank']);
  const counted = { source: 'embeddings', turns: 1, tokens_input: 6, tokens_output: 0 };
  expect(await embeddingsUsed()).toMatchObject([{ ...counted, cost_total: 0, turns_unpriced: 1 }]);
  const data = [{ index: 0, embedding: letterCounts('billed') }];
  double.answer({ embeddings: { data, usage: { prompt_tokens: 4, cost: 0.25 } } });
  await embed(['billed']);
  expect(await embeddingsUsed()).toMatchObject([{ turns: 2, tokens_input: 10, cost_total: 0.25 }]);

  await configure({ budgets: { daily_usd: 0.2 } });
  const sent = inputs().length;
  await expect(embed(['too dear'])).rejects.toMatchObject({
    code: 'embedding_over_budget',
    retryable: true,
    message: expect.stringContaining('is used up'),
  });
  expect(inputs()).toHaveLength(sent);
  await configure({ budgets: { daily_usd: null } });
  expect(await embed(['too dear'])).toHaveLength(1);
});

test.each([
  ['refuses', { fault: { kind: 'status', status: 401, message: `wrong key ${KEY}` } }, 'openai answered 401'],
  ['gives too few', { embeddings: { data: [] } }, 'openai sent an answer that makes no sense'],
  ['gives no numbers', { embeddings: { data: [{ index: 0, embedding: ['1'] }] } }, 'makes no sense'],
  [
    'gives fewer numbers',
    { embeddings: { data: [{ index: 0, embedding: [1, 2] }] } },
    'openai gave 2 dimensions, not 8',
  ],
] as const)(
  'an endpoint that %s is not asked again, and its words are not handed on',
  async (_, reply, why) => {
    const { embed, double, inputs } = await openRemote();
    double.answer(reply);
    const failure = await embed(['river']).catch((error: unknown) => error);
    expect(isFault(failure) ? [failure.code, failure.retryable] : failure).toEqual([
      'embedding_failed',
      false,
    ]);
    expect((failure as Error).message).toContain(why);
    expect((failure as Error).message).not.toContain(KEY);
    expect(inputs()).toHaveLength(2);
  },
);

test('a provider that is not configured is told, and used as soon as it is', async () => {
  const double = await startProviderDouble({ script: {} });
  onTestFinished(() => double.stop());
  const { status, configure, until } = await openEmbeddings({
    settings: { embeddings: { remote_model: 'openai:text-embedding-double' } },
  });
  expect(await status()).toMatchObject({
    current: null,
    error: expect.stringContaining('openai is not configured'),
  });
  await configure({ providers: { openai: { api_key: KEY, base_url: double.baseUrl } } });
  expect(await until(({ current }) => current !== null)).toMatchObject({
    current: { dimensions: 8 },
    error: null,
  });
});
