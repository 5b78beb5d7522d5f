import { afterAll, describe, expect, test } from 'vitest';
import { openTroupe } from '../../support/troupe.ts';
import { openaiClient } from '../chat-completions/openai-client.ts';
import { cosine } from './embeddings-system.ts';

const app = await openTroupe();
afterAll(() => app.close());
const client = openaiClient(app);

const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => 'not refused',
    ({ status, code, param }: { status: number; code: string; param: string }) => ({ status, code, param }),
  );

describe("OpenAI's client", () => {
  test('gets vectors of one text and of many, as numbers and in base64', async () => {
    const one = await client.embeddings.create({ model: 'default', input: 'The river flows.' });
    expect(one).toMatchObject({ object: 'list', model: 'troupe-lexical-v1' });
    expect(one.usage.prompt_tokens).toBe(3);
    expect(one.data).toHaveLength(1);
    const [first] = one.data;
    // The client asks for base64 and decodes it, unless it is told otherwise.
    const plain = await client.embeddings.create({
      model: 'troupe-lexical-v1',
      input: ['The river flows.', 'Pay the invoice.'],
      encoding_format: 'float',
    });
    expect(plain.data.map(({ index }) => index)).toEqual([0, 1]);
    expect(plain.data[0]?.embedding).toHaveLength(384);
    for (const [at, value] of (first?.embedding ?? []).entries())
      expect(plain.data[0]?.embedding[at]).toBeCloseTo(value, 6);
  });

  test('may ask for fewer dimensions, and gets vectors of length 1', async () => {
    const { data } = await client.embeddings.create({
      model: 'default',
      input: ['one', 'two'],
      dimensions: 100,
      encoding_format: 'float',
    });
    for (const { embedding } of data) {
      expect(embedding).toHaveLength(100);
      const vector = Float32Array.from(embedding);
      expect(cosine(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  test.each([
    ['tokens', { input: [1, 2, 3] }, 'input'],
    ['lists of tokens', { input: [[1, 2], [3]] }, 'input'],
    ['an empty text', { input: ['a', ''] }, 'input'],
    ['no text', { input: [] }, 'input'],
    ['another model', { input: 'a', model: 'text-embedding-3-small' }, 'model'],
    ['more dimensions than there are', { input: 'a', dimensions: 1_000 }, 'dimensions'],
  ])('is refused %s by name', async (_, request, param) => {
    expect(await refusal(client.embeddings.create({ model: 'default', ...request }))).toEqual({
      status: 400,
      code: 'embedding_refused',
      param,
    });
  });

  test('is refused more texts than a request may have, and a shape that is none', async () => {
    const many = Array.from({ length: 2_049 }, (_, n) => `text ${n}`);
    expect(await refusal(client.embeddings.create({ model: 'default', input: many }))).toMatchObject({
      status: 400,
    });
    const { status, body } = await app.call('POST', '/v1/embeddings', { model: 'default' });
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error']);
  });

  test('may send a whole upload at once', async () => {
    const input = Array.from({ length: 300 }, (_, n) => `Paragraph ${n} is about rivers.`);
    const { data, usage } = await client.embeddings.create({ model: 'default', input });
    expect(data).toHaveLength(300);
    expect(usage.total_tokens).toBe(300 * 5);
  });
});

test('health says which engine there is', async () => {
  const { body } = await app.call('GET', '/api/health');
  expect([body.status, body.embeddings]).toEqual([
    'healthy',
    {
      provider: 'local',
      model: 'troupe-lexical-v1',
      dimensions: 384,
      status: 'ready',
      error: null,
      next: null,
    },
  ]);
});

test('health says what is wrong with one that cannot be used', async () => {
  await using broken = await openTroupe();
  await broken.configure({ embeddings: { model_dir: `${broken.dataDir}/nowhere` } });
  const embeddings = async () => (await broken.call('GET', '/api/health')).body;
  await expect.poll(async () => (await embeddings()).status, { timeout: 20_000 }).toBe('degraded');
  expect((await embeddings()).embeddings).toMatchObject({
    model: 'troupe-lexical-v1',
    status: 'ready',
    error: 'the folder of the model is not there',
  });
});
