import { expect, test } from 'vitest';
import { type Manifest, manifestOf } from '../../../src/actors/config/manifest.ts';
import { defaultSettings, type Settings } from '../../../src/actors/config/settings.ts';

const manifest = (values: Partial<Settings> = {}, version = 3): Manifest =>
  manifestOf(
    {
      effective: { ...defaultSettings, ...values },
      errors: {},
      generatedAt: '2026-11-20T12:00:00.000000+00:00',
    },
    version,
  );
const entry = (key: string, from = manifest()) => from.entries.find((one) => one.key === key);

test('an entry says all that its declaration does', () => {
  expect(
    entry('llm_settings.default_temperature', manifest({ 'llm_settings.default_temperature': 1.5 })),
  ).toEqual({
    key: 'llm_settings.default_temperature',
    store: 'config',
    type: 'float',
    default: 0.7,
    value: 1.5,
    secret: false,
    writable_via: '/api/config/update',
    constraints: { min: 0, max: 2, step: 0.1 },
    tier: 'essential',
    ui_section: 'models',
    help: {
      summary: 'Temperature of a turn that names none.',
      what: 'Takes a number from 0 to 2.',
      why: 'Lower is steadier, higher is more varied.',
      manage: 'Set here; it holds from its next use on, without a restart.',
    },
  });
});

test('an entry says which role it follows, what null and empty mean, and how a map is written', () => {
  expect(entry('session.rolling_summary.model')).toMatchObject({
    role_member: 'rolling_summary',
    role: 'summarizer',
    empty_means: 'it follows the role summarizer',
  });
  expect(entry('preferences.default_model')).toMatchObject({ nullable: true, default: null });
  expect(entry('context_limits.models')).toMatchObject({ type: 'map', write_mode: 'whole' });
  expect(entry('search.backend')).toMatchObject({ type: 'str', constraints: { enum: ['tavily', 'brave'] } });
  expect(entry('shell.timeout_seconds')).toMatchObject({
    writable_via: null,
    ui_section: null,
    constraints: { min: 1, max: 3600, unit: 'seconds' },
  });
});

test('a key that only the operator sets, and one that nothing reads yet, say so', () => {
  expect(entry('shell.allow_network')?.help?.manage).toContain('settings.json');
  expect(entry('shell.allow_network')?.help?.manage).toContain('nothing in this version reads it yet');
  expect(entry('chat.max_tool_rounds')?.help?.manage).not.toContain('yet');
});

test('a secret shows that it is set and nothing of itself, not its end either', () => {
  const secret = 'sk-0123456789abcdef';
  const shown = manifest({
    'providers.openai.api_key': secret,
    'providers.custom': {
      groq: {
        label: 'Groq',
        base_url: 'https://api.example.org/v1',
        api_key: secret,
        headers: { 'x-team': secret },
        enabled: true,
      },
    },
  });
  expect(entry('providers.openai.api_key', shown)).toMatchObject({ secret: true, value: '***' });
  expect(entry('providers.anthropic.api_key', shown)).toMatchObject({ secret: true, value: '' });
  expect(entry('providers.custom', shown)).toMatchObject({
    secret: false,
    value: { groq: { label: 'Groq', api_key: '***cdef' } },
  });
  expect(JSON.stringify(shown)).not.toContain('456789');
});

test('the pages come in the order of the navigation, with what a client may set on each', () => {
  const { sections, entries } = manifest();
  expect(sections?.map(({ id }) => id)).toEqual([
    ...['providers', 'models', 'model-roles', 'search', 'images'],
    ...['planner', 'thinking', 'alloy', 'ambassador', 'research'],
    ...['prompt-stack', 'prompts', 'prompt-templates', 'feature-prompts'],
    ...['memory-overview', 'context', 'memory-recall', 'memory-consolidation'],
    ...['translation', 'appearance'],
  ]);
  for (const { id, writable_count } of sections ?? []) {
    const onPage = entries.filter(({ ui_section }) => ui_section === id);
    expect(onPage.filter(({ writable_via }) => writable_via !== null).length, id).toBe(writable_count);
  }
  expect(sections?.find(({ id }) => id === 'model-roles')?.writable_count).toBe(3);
  expect(sections?.find(({ id }) => id === 'appearance')?.writable_count).toBe(0);
});

test('an older version is the newer one with less in it, and a newer one than there is gets the newest', () => {
  const [first, second, third] = [1, 2, 3].map((version) => manifest({}, version)) as [
    Manifest,
    Manifest,
    Manifest,
  ];
  expect([first.version, second.version, third.version]).toEqual([1, 2, 3]);
  expect(third).toEqual({ ...second, version: 3, sections: third.sections });
  expect(second.sections).toBeUndefined();
  expect(Object.keys(entry('chat.max_tool_rounds', first) ?? {})).toEqual([
    ...['key', 'store', 'type', 'default', 'value', 'secret', 'writable_via'],
  ]);
  expect(manifest({}, 99)).toEqual(third);
});

test('what belongs to memory is a store of its own, without a section and set by its own routes', () => {
  expect(entry('extraction_model')).toMatchObject({
    store: 'memory',
    default: 'inherit',
    writable_via: '/api/memory/settings',
    role_member: 'extraction',
    role: 'fast_utility',
    ui_section: 'memory-consolidation',
  });
  expect(entry('recall_hyde_model')?.writable_via).toBe('/api/memory/recall-settings');
  expect(manifest().counts).toMatchObject({ memory: 12, total: manifest().entries.length });
});
