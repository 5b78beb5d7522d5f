import { expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { openEdgeActors } from '../../support/edge-actors.ts';

test('limits are set model by model, and removed with null', async () => {
  const actors = await openEdgeActors();
  const set = await actors.ask(config, 'updateContextLimits', {
    lmstudio: { context_window: 65_536 },
    models: {
      'openai:gpt-4.1': { context_window: 100_000, max_output_tokens: null },
      'anthropic:claude': { max_output_tokens: 8000 },
    },
  });
  expect(set).toEqual({
    status: 'ok',
    updated: [
      'context_limits.lmstudio.context_window',
      'context_limits.models.openai:gpt-4.1',
      'context_limits.models.anthropic:claude',
    ],
  });
  expect(
    await actors.ask(config, 'updateContextLimits', {
      models: { 'openai:gpt-4.1': null, 'nobody:knows': null },
    }),
  ).toEqual({ status: 'ok', updated: ['-context_limits.models.openai:gpt-4.1'] });
  const expected = {
    lmstudio: { context_window: 65_536, max_output_tokens: 8192 },
    models: { 'anthropic:claude': { max_output_tokens: 8000 } },
  };
  expect(await actors.ask(config, 'contextLimits', {})).toEqual(expected);
  expect(await (await actors.reopen()).ask(config, 'contextLimits', {})).toEqual(expected);
});

test('limits that do not fit are refused with an error each, and nothing is changed', async () => {
  const actors = await openEdgeActors();
  const refused = actors.ask(config, 'updateContextLimits', {
    lmstudio: { context_window: 1 },
    models: {
      'openai:good': { context_window: 100_000 },
      'openai:small': { context_window: 1 },
      'openai:other': { unknown: 1 },
      ...JSON.parse('{"__proto__":{"context_window":2000}}'),
    },
  });
  await expect(refused).rejects.toMatchObject({
    code: 'config_invalid',
    details: {
      errors: {
        'context_limits.lmstudio.context_window': expect.stringContaining('must be'),
        'context_limits.models.openai:small': expect.stringContaining('must be'),
        'context_limits.models.openai:other': expect.stringContaining('must be'),
      },
    },
  });
  expect((await actors.ask(config, 'contextLimits', {})).models).toEqual({});
});

test('limits that are set at the same time are all kept', async () => {
  const actors = await openEdgeActors();
  const models = Array.from({ length: 20 }, (_, at) => `openai:model-${at}`);
  await Promise.all(
    models.map((model) =>
      actors.ask(config, 'updateContextLimits', { models: { [model]: { context_window: 5000 } } }),
    ),
  );
  const limits = await actors.ask(config, 'contextLimits', {});
  expect(Object.keys(limits.models).toSorted()).toEqual(models.toSorted());
});

test('no more models than there is room for', async () => {
  const actors = await openEdgeActors();
  const many = Array.from({ length: 1001 }, (_, at) => [`openai:m${at}`, { context_window: 5000 }]);
  const refused = actors.ask(config, 'updateContextLimits', { models: Object.fromEntries(many) });
  await expect(refused).rejects.toMatchObject({
    details: { errors: { 'context_limits.models': expect.any(String) } },
  });
});
