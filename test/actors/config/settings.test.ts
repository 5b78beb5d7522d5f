import { expect, test } from 'vitest';
import { isRedacted, redacted } from '../../../src/actors/config/redaction.ts';
import { defaultSettings } from '../../../src/actors/config/settings.ts';
import { readUpdate } from '../../../src/actors/config/update.ts';
import { viewOf } from '../../../src/actors/config/view.ts';

const changesOf = (tree: Record<string, unknown>): Record<string, unknown> => {
  const update = readUpdate(tree);
  if (!update.ok) throw new Error(JSON.stringify(update.errors));
  return Object.fromEntries(update.changes);
};
const errorsOf = (tree: Record<string, unknown>): readonly string[] => {
  const update = readUpdate(tree);
  return update.ok ? [] : Object.keys(update.errors);
};

test('the view is a tree of sections with secrets redacted', () => {
  const view = viewOf({
    ...defaultSettings,
    'providers.openai.api_key': 'sk-0123456789abcdef',
    'providers.vercel.api_key': 'short',
  }) as { providers: Record<string, Record<string, unknown>>; chat: object };
  expect(view.providers.openai).toEqual({ api_key: '***cdef', base_url: null, timeout: 60 });
  expect(view.providers.vercel?.api_key).toBe('***');
  expect(view.providers.anthropic?.api_key).toBeNull();
  expect(view.chat).toEqual({ max_tool_rounds: 10, auto_continue_on_length: true });
  expect(view).toHaveProperty('planner.decompose_default', expect.stringContaining('subtasks'));
  expect(JSON.stringify(view)).not.toContain('0123456789');
});

test('what is redacted is recognised when it comes back', () => {
  for (const secret of ['a', 'sk-0123456789abcdef']) expect(isRedacted(redacted(secret))).toBe(true);
  expect(isRedacted('sk-0123456789abcdef')).toBe(false);
  expect(errorsOf({ providers: { openai: { api_key: '***cdef' } } })).toEqual(['providers.openai.api_key']);
});

test('an update takes declared keys, trimmed, and passes over all others', () => {
  expect(
    changesOf({
      providers: { openai: { api_key: ' sk-1 ', unknown: 1 }, nobody: { api_key: 'x' } },
      preferences: { default_model: 'openai:gpt-4.1' },
      models: { roles: { fast_utility: 'anthropic:claude' } },
      nonsense: 7,
      shell: { allow_unsandboxed: true },
      prompts: { layers: {} },
      chat: 'not a section',
    }),
  ).toEqual({
    'providers.openai.api_key': 'sk-1',
    'preferences.default_model': 'openai:gpt-4.1',
    'models.roles.fast_utility': 'anthropic:claude',
  });
});

test('an empty text or null unsets what is nullable, and an empty role is stored as such', () => {
  expect(changesOf({ providers: { openai: { api_key: '', base_url: null } } })).toEqual({
    'providers.openai.api_key': null,
    'providers.openai.base_url': null,
  });
  expect(changesOf({ models: { roles: { summarizer: '' } } })).toEqual({ 'models.roles.summarizer': '' });
});

test('every refused key has an error of its own, and nothing is taken', () => {
  const update = readUpdate({
    llm_settings: { default_temperature: 2.5, top_p: 0.5, default_max_tokens: 1.5 },
    models: { roles: { summarizer: 'role:fast_utility', deep_reasoning: 'bare-name' } },
    providers: { lmstudio: { timeout: null }, openai: { base_url: 'ftp://x', api_key: 'two words' } },
    chat: { max_tool_rounds: '10', auto_continue_on_length: 1 },
  });
  expect(update).toMatchObject({ ok: false });
  expect(update.ok ? [] : Object.keys(update.errors).toSorted()).toEqual([
    'chat.auto_continue_on_length',
    'chat.max_tool_rounds',
    'llm_settings.default_max_tokens',
    'llm_settings.default_temperature',
    'models.roles.deep_reasoning',
    'models.roles.summarizer',
    'providers.lmstudio.timeout',
    'providers.openai.api_key',
    'providers.openai.base_url',
  ]);
  expect(update.ok ? '' : update.errors['llm_settings.default_temperature']).toBe(
    'must be a number from 0 to 2',
  );
});

test('a role that is asked for has to exist', () => {
  const defaultModel = (default_model: string) => errorsOf({ preferences: { default_model } });
  expect(defaultModel('role:summarizer')).toEqual([]);
  expect(defaultModel('openrouter:vendor/model:free')).toEqual([]);
  expect(defaultModel('role:nobody')).toEqual(['preferences.default_model']);
  expect(defaultModel('bare-name')).toEqual(['preferences.default_model']);
});

test('the model of a task takes any reference, and stores an empty text as "follow the role"', () => {
  const tree = (model: unknown) => ({ session: { rolling_summary: { model } } });
  for (const model of ['', 'openai:gpt-4.1', 'role:summarizer', 'bare-name']) {
    expect(changesOf(tree(model))).toEqual({ 'session.rolling_summary.model': model });
  }
  expect(errorsOf(tree(null))).toEqual(['session.rolling_summary.model']);
  expect(changesOf({ planner: { model: null }, ambassador: { model: '', profile_id: null } })).toEqual({
    'planner.model': null,
    'ambassador.model': null,
    'ambassador.profile_id': null,
  });
});

test('sections of sections are merged key by key', () => {
  expect(changesOf({ ambassador: { aide: { max_parallel: 2 }, dispatch: {} } })).toEqual({
    'ambassador.aide.max_parallel': 2,
  });
});

test('a prompt is kept as it was written, blanks and all', () => {
  const prompt_override = '  Plan well.\n\n';
  expect(changesOf({ planner: { prompt_override } })).toEqual({ 'planner.prompt_override': prompt_override });
});

test('a choice takes one of its values', () => {
  expect(changesOf({ search: { backend: 'brave' } })).toEqual({ 'search.backend': 'brave' });
  const refused = readUpdate({ search: { backend: 'other' } });
  expect(refused).toEqual({ ok: false, errors: { 'search.backend': 'must be one of tavily, brave' } });
});

test('bounds include their ends', () => {
  expect(errorsOf({ llm_settings: { default_temperature: 0 } })).toEqual([]);
  expect(errorsOf({ llm_settings: { default_temperature: 2 } })).toEqual([]);
  expect(errorsOf({ chat: { max_tool_rounds: 0 } })).toEqual(['chat.max_tool_rounds']);
});

test('an address may not carry credentials', () => {
  const baseUrl = (base_url: string) => errorsOf({ providers: { openai: { base_url } } });
  expect(baseUrl('https://user:pass@example.org/v1')).toHaveLength(1);
  expect(baseUrl('http://127.0.0.1:1234/v1')).toEqual([]);
});

test.each(['http://localhost:99999', 'http://[', 'https://%/v1', 'http://two^words'])(
  'what no URL can be made of is no address: %s',
  (address) => {
    expect(errorsOf({ providers: { openai: { base_url: address } } })).toHaveLength(1);
    expect(errorsOf({ providers: { lmstudio: { base_url: address } } })).toHaveLength(1);
  },
);

test('limits of models are replaced as a whole and bounded', () => {
  const models = { 'openai:gpt-4.1': { context_window: 100_000 } };
  expect(changesOf({ context_limits: { models } })).toEqual({ 'context_limits.models': models });
  expect(errorsOf({ context_limits: { models: { x: { context_window: 1 } } } })).toHaveLength(1);
  expect(errorsOf({ context_limits: { models: { x: { other: 1 } } } })).toHaveLength(1);
  expect(
    errorsOf({ context_limits: { models: JSON.parse('{"__proto__":{"context_window":2000}}') } }),
  ).toHaveLength(1);
});

test('keys of Object.prototype are no sections', () => {
  expect(
    changesOf(JSON.parse('{"__proto__":{"chat":{"max_tool_rounds":3}},"constructor":{"chat":1}}')),
  ).toEqual({});
  expect(({} as Record<string, unknown>).chat).toBeUndefined();
});
