import { afterAll, beforeAll, expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { rolesOf } from '../../../src/actors/config/role-members.ts';
import { defaultSettings, type Settings } from '../../../src/actors/config/settings.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

const member = (name: string, values: Partial<Settings> = {}) =>
  rolesOf({ ...defaultSettings, ...values }).members.find((one) => one.member === name);

const WITH_ROLE: Partial<Settings> = {
  'models.roles.summarizer': 'openai:small',
  'preferences.default_model': 'anthropic:default',
};

test('a member without a value of its own follows its role', () => {
  expect(member('compression', WITH_ROLE)).toEqual({
    member: 'compression',
    label: 'Tool-output compression',
    role: 'summarizer',
    kind: 'config',
    source: 'compression.model',
    explicit: '',
    role_model: 'openai:small',
    effective: 'openai:small',
    following: 'role',
  });
});

test('a value of its own wins, also when it names another role', () => {
  expect(member('compression', { ...WITH_ROLE, 'compression.model': 'openai:mine' })).toMatchObject({
    explicit: 'openai:mine',
    effective: 'openai:mine',
    following: 'explicit',
  });
  const other: Partial<Settings> = {
    ...WITH_ROLE,
    'compression.model': 'role:fast_utility',
    'models.roles.fast_utility': 'openai:fast',
  };
  expect(member('compression', other)).toMatchObject({ effective: 'openai:fast', following: 'explicit' });
});

test('a role that has no model leaves its members to the default model, or to nothing', () => {
  expect(member('aide', WITH_ROLE)).toMatchObject({
    role_model: '',
    effective: 'anthropic:default',
    following: 'fallback',
  });
  expect(member('aide')).toMatchObject({ effective: '', following: 'fallback' });
});

test('a default model that names a role stands for its model', () => {
  const values: Partial<Settings> = { ...WITH_ROLE, 'preferences.default_model': 'role:summarizer' };
  expect(member('aide', values)).toMatchObject({ effective: 'openai:small', following: 'fallback' });
});

test('a stage of memory that inherits follows its role, then the default of memory, then the default model', () => {
  const values: Partial<Settings> = {
    feature_default_model: 'openai:memory',
    'preferences.default_model': 'anthropic:default',
  };
  expect(member('extraction', values)).toMatchObject({
    kind: 'memory',
    source: 'extraction_model',
    explicit: '',
    effective: 'openai:memory',
    following: 'fallback',
  });
  expect(member('extraction', { ...values, 'models.roles.fast_utility': 'openai:fast' })).toMatchObject({
    effective: 'openai:fast',
    following: 'role',
  });
  expect(member('extraction', { ...values, feature_default_model: 'inherit' })).toMatchObject({
    effective: 'anthropic:default',
  });
  expect(member('extraction', { ...values, extraction_model: 'openai:mine' })).toMatchObject({
    explicit: 'openai:mine',
    following: 'explicit',
  });
});

let app: TestTroupe;
beforeAll(async () => {
  app = await openTroupe();
});
afterAll(() => app.close());

test('a role is set and cleared by an update, and its members show it at once', async () => {
  const shown = async () => (await app.call('GET', '/api/models/roles')).body;
  await app.configure({ models: { roles: { summarizer: 'lmstudio:small' } } });
  const { roles, members } = await shown();
  expect(Object.keys(roles)).toEqual(['fast_utility', 'deep_reasoning', 'summarizer']);
  expect(roles.summarizer).toEqual({
    label: 'Summarizer',
    description: 'Cheap compression and recaps.',
    model: 'lmstudio:small',
  });
  const following = members.filter((one: { effective: string }) => one.effective === 'lmstudio:small');
  expect(following.map((one: { member: string }) => one.member).toSorted()).toEqual([
    'compression',
    'prompt_enhancement',
    'rolling_summary',
    'trajectory_compression',
    'workspace_summary',
  ]);
  await app.configure({ models: { roles: { summarizer: '' } } });
  expect((await shown()).roles.summarizer.model).toBe('');
});

test('the stages of consolidation adopt their roles; recall, summaries and the rest keep what they have', async () => {
  const door = app.troupe.system.named(config);
  await door.ask('assign', {
    extraction_model: 'openai:mine',
    procedural_distill_model: 'openai:mine',
    recall_hyde_model: 'openai:mine',
    workspace_summary_model: 'openai:mine',
    'compression.model': 'openai:mine',
  });
  const { status, body } = await app.call('POST', '/api/models/roles/adopt');
  expect(status).toBe(200);
  expect(body).toEqual({
    success: true,
    adopted: [
      ...['extraction_model', 'relevance_filter_model', 'contradiction_model', 'correction_model'],
      ...['entity_linking_model', 'combined_extraction_model', 'procedural_distill_model'],
    ],
  });
  const settings = await door.ask('settings', {});
  for (const key of body.adopted) expect(settings).toHaveProperty([key], 'inherit');
  expect(settings).toMatchObject({
    recall_hyde_model: 'openai:mine',
    workspace_summary_model: 'openai:mine',
    'compression.model': 'openai:mine',
  });
});

test('the common update neither shows nor sets what belongs to memory', async () => {
  await app.call('POST', '/api/config/update', { entity_linking_model: 'openai:sneaked' });
  const shown = await app.call('GET', '/api/config');
  expect(JSON.stringify(shown.body)).not.toContain('entity_linking_model');
  const { body } = await app.call('GET', '/api/settings/manifest');
  const entry = body.entries.find((one: { key: string }) => one.key === 'entity_linking_model');
  expect(entry.value).toBe('inherit');
});
