// Pictures in the requests of OpenAI's clients: named by the url of their upload, and of no other place.

import { randomBytes } from 'node:crypto';
import OpenAI from 'openai';
import { afterAll, expect, test } from 'vitest';
import { openTroupe } from '../../support/troupe.ts';
import { upload } from '../../support/uploads.ts';
import { openaiClient } from './openai-client.ts';

const SEER = {
  id: 'seer',
  context_length: 200_000,
  architecture: { input_modalities: ['text', 'image'] },
};

const app = await openTroupe({ models: { list: [SEER, 'double-1'] } });
afterAll(() => app.close());
const client = openaiClient(app);

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(500)]);
const { body: uploaded } = await upload(`${app.url}/api/agent/chat/images`, {
  filename: 'a.png',
  content: PNG,
});
const shown = {
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` },
};

const showing = (url: string, text = 'What is it?') => ({
  role: 'user' as const,
  content: [
    { type: 'text' as const, text },
    { type: 'image_url' as const, image_url: { url } },
  ],
});
const sent = (): readonly { readonly role: string; readonly content: unknown }[] =>
  app.double.requests.at(-1)?.body.messages ?? [];

test.each([false, true])('go to a model that sees, streamed or not: %s', async (stream) => {
  app.double.answer({ text: 'A cat.' });
  const messages = [showing(`${uploaded.url}?v=1`)];
  const answer = await client.chat.completions.create({ model: 'lmstudio:seer', messages, stream });
  if ('choices' in answer) expect(answer.choices[0]?.message.content).toBe('A cat.');
  else expect((await Array.fromAsync(answer)).length).toBeGreaterThan(0);
  expect(sent()).toEqual([{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, shown] }]);
});

test.each([
  ['a model that sees none', 'lmstudio:double-1', uploaded.url, 'lmstudio:double-1 sees no images'],
  [
    'one that is not there',
    'lmstudio:seer',
    '/api/workspaces/ws_home/documents/doc_0/raw',
    'there is no image doc_0',
  ],
])('are refused for %s', async (_why, model, url, message) => {
  const before = app.double.requestCount;
  const asked = client.chat.completions.create({ model, messages: [showing(url)] });
  await expect(asked).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  await expect(asked).rejects.toThrow(message);
  expect(app.double.requestCount).toBe(before);
});

test('are seen by an agent in the last message, and named in those before', async () => {
  app.double.answer({ text: 'The same.' });
  await app.configure({ preferences: { default_model: 'lmstudio:seer' } });
  await client.chat.completions.create({
    model: 'agent:default',
    messages: [
      showing(uploaded.url),
      { role: 'assistant', content: 'A cat.' },
      showing(uploaded.url, 'And?'),
    ],
  });
  const [earlier, last] = sent().filter(({ role }) => role === 'user');
  expect(earlier?.content).toBe(`What is it?\n[Attached image: document_id ${uploaded.doc_id}]`);
  expect(last?.content).toEqual([
    { type: 'text', text: expect.stringMatching(/^And\?\n\[Attached image: document_id /) },
    shown,
  ]);
});
