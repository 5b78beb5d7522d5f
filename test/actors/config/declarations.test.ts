// What every declaration promises, checked over all of them.

import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ROLE_NAMES, ROLES } from '../../../src/actors/config/roles.ts';
import type { Setting } from '../../../src/actors/config/setting.ts';
import { defaultSettings, roleMembers, SETTING_KEYS, settings } from '../../../src/actors/config/settings.ts';
import { fits } from '../../../src/std/validation.ts';

const declared: readonly (readonly [string, Setting])[] = SETTING_KEYS.map((key) => [key, settings[key]]);
const keysWhere = (holds: (setting: Setting) => boolean): readonly string[] =>
  declared.filter(([, setting]) => holds(setting)).map(([key]) => key);

test('every default fits its own declaration', () => {
  for (const [key, setting] of declared) expect(fits(setting.schema, setting.default), key).toBe(true);
});

test('no key is a prefix of another', () => {
  for (const [key] of declared) {
    expect(declared.filter(([other]) => other.startsWith(`${key}.`))).toEqual([]);
  }
});

test('the defaults are the documented ones', () => {
  expect(defaultSettings).toMatchObject({
    'chat.max_tool_rounds': 10,
    'providers.lmstudio.timeout': 300,
    'providers.openai.timeout': 60,
    'context.rehydrate_max_turns': 400,
    'models.roles.summarizer': '',
    'preferences.default_model': null,
    'providers.policy.allow_private_endpoints': null,
    'budgets.daily_usd': null,
    'planner.complexity_threshold': 'complex',
    'alloy.effort_tiers': { quick: 8, standard: 30, deep: 60, marathon: 100 },
    'search.backend': 'tavily',
    'ambassador.aide.temperature': 0.2,
    'shell.allow_unsandboxed': false,
    'shell.max_materialize_bytes': 134_217_728,
    'trajectory_compression.threshold_ratio': 0.75,
  });
});

test('what the client asks for at its start is there, and on', () => {
  for (const key of [
    'vision.enabled',
    'audio.input_enabled',
    'alloy.allow_adhoc_delegation',
    'research.enabled',
    'reasoning.chat_patterns_enabled',
    'reasoning.cot_enabled',
    'reasoning.step_back_enabled',
    'reasoning.reflection_enabled',
    'reasoning.self_consistency_enabled',
  ]) {
    expect(defaultSettings).toHaveProperty([key], true);
  }
});

test('a key that is called a secret is one, and nothing else is', () => {
  const bySound = declared.map(([key]) => key).filter((key) => /_(key|password|token|secret|uri)$/.test(key));
  expect(keysWhere(({ secret }) => secret).toSorted()).toEqual([...bySound, 'providers.custom'].toSorted());
});

test('no client can reach what the sandbox rests on', () => {
  const shell = declared.filter(([key]) => key.startsWith('shell.'));
  expect(shell.length).toBeGreaterThan(10);
  for (const [key, { writer }] of shell) expect(writer, key).toBe('operator');
});

test('the members of each role are the documented ones', () => {
  expect(Object.keys(ROLES)).toEqual([...ROLE_NAMES]);
  const membersOf = (role: string) =>
    roleMembers.filter((one) => one.role === role).map(({ member, key }) => `${member}: ${key}`);
  expect(membersOf('fast_utility').toSorted()).toEqual([
    'aide: ambassador.aide.model',
    'contradiction: contradiction_model',
    'correction: correction_model',
    'entity_linking: entity_linking_model',
    'extraction: extraction_model',
    'recall_hyde: recall_hyde_model',
    'recall_self_query: recall_self_query_model',
    'relevance_filter: relevance_filter_model',
    'thinking_classifier: reasoning.classifier_model',
  ]);
  expect(membersOf('deep_reasoning')).toEqual([
    'combined_extraction: combined_extraction_model',
    'procedural_distill: procedural_distill_model',
  ]);
  expect(membersOf('summarizer').toSorted()).toEqual([
    'compression: compression.model',
    'prompt_enhancement: prompt_enhancement.model',
    'rolling_summary: session.rolling_summary.model',
    'trajectory_compression: trajectory_compression.model',
    'workspace_summary: workspace_summary_model',
  ]);
});

test('what follows a role says so, and takes an empty text', () => {
  for (const { key, role } of roleMembers) {
    expect((settings[key] as Setting).emptyMeans).toBe(`it follows the role ${role}`);
    expect(fits(settings[key].schema, '')).toBe(true);
  }
});

test('the words about a setting begin and end as sentences do', () => {
  for (const [key, { summary, why, emptyMeans }] of declared) {
    for (const sentence of [summary, why].filter((one) => one !== undefined)) {
      expect(sentence, key).toMatch(/^[A-Z{].*[.]$/);
    }
    if (emptyMeans !== undefined) expect(emptyMeans, key).not.toMatch(/[.]$/);
  }
});

// The help of a key says whether anything reads it. That has to become true, and stay so, as the service grows: what comes
// to read a key moves its declaration out of `kept({ … })`.
test('the keys that are only kept are those that nothing reads', async () => {
  const sources: string[] = [];
  for await (const path of glob('src/**/*.ts', { exclude: ['src/actors/config/**'] })) {
    sources.push(await readFile(path, 'utf8'));
  }
  const code = sources.join('\n');
  const isRead = (key: string): boolean => code.includes(`'${key}'`);
  expect({
    'in effect, but nobody reads it': keysWhere(({ inEffect }) => inEffect).filter((key) => !isRead(key)),
    'kept, but somebody reads it': keysWhere(({ inEffect }) => !inEffect).filter(isRead),
  }).toEqual({ 'in effect, but nobody reads it': [], 'kept, but somebody reads it': [] });
});
