import { afterAll, beforeAll, expect, test } from 'vitest';
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
  ]);
  await app.configure({ models: { roles: { summarizer: '' } } });
  expect((await shown()).roles.summarizer.model).toBe('');
});
