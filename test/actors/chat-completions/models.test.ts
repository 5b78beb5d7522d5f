import { expect, test } from 'vitest';
import { openTroupe } from '../../support/troupe.ts';
import { openaiClient } from './openai-client.ts';

test('the models are the agents, and what the providers have', async () => {
  await using app = await openTroupe({ models: { list: ['double-1', 'maker/double-2'] } });
  const client = openaiClient(app);
  const { data } = await client.models.list();
  expect(data).toEqual([
    { id: 'agent:default', object: 'model', created: 0, owned_by: 'troupe' },
    { id: 'lmstudio:double-1', object: 'model', created: 0, owned_by: 'lmstudio' },
    { id: 'lmstudio:maker/double-2', object: 'model', created: 0, owned_by: 'lmstudio' },
  ]);
  expect(await client.models.retrieve('lmstudio:maker/double-2')).toEqual(data[2]);
  await expect(client.models.retrieve('lmstudio:nothing')).rejects.toMatchObject({
    status: 404,
    code: 'model_unknown',
  });
});

test('without a provider the agents are all there is, and the offline responder answers', async () => {
  await using app = await openTroupe({ offline: true });
  const client = openaiClient(app);
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['agent:default']);
  const messages = [{ role: 'user' as const, content: 'Hello?' }];
  const { model, choices } = await client.chat.completions.create({ model: 'default', messages });
  expect(model).toBe('local:offline');
  expect(choices[0]?.message.content).toContain('No language model is configured');
});
