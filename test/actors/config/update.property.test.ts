// Whatever a client sends, an update is taken whole or refused whole. A failure prints its seed.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Setting, UPDATE_ROUTE } from '../../../src/actors/config/setting.ts';
import {
  defaultSettings,
  SETTING_KEYS,
  type SettingKey,
  settings,
} from '../../../src/actors/config/settings.ts';
import { readUpdate } from '../../../src/actors/config/update.ts';
import { viewOf } from '../../../src/actors/config/view.ts';
import { fits } from '../../../src/std/validation.ts';

/** Through this update: the settings of memory have a route of their own. */
function isWritable(key: SettingKey): boolean {
  const { writer, route }: Setting = settings[key];
  return writer === 'client' && route === UPDATE_ROUTE;
}

const anyKey = fc.constantFrom(...SETTING_KEYS);
const nearValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(
    '',
    null,
    '***cdef',
    'role:summarizer',
    'openai:gpt',
    'https://example.org/v1',
    'https://u:p@example.org',
  ),
);
const noise = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

function treeOf(
  values: ReadonlyMap<SettingKey, unknown>,
  noisy: Record<string, unknown>,
): Record<string, unknown> {
  const tree: Record<string, unknown> = { ...noisy };
  for (const [key, value] of values) {
    const segments = key.split('.');
    const leaf = segments.pop() as string;
    let at = tree;
    for (const segment of segments) {
      if (typeof at[segment] !== 'object' || at[segment] === null) at[segment] = {};
      at = at[segment] as Record<string, unknown>;
    }
    at[leaf] = value;
  }
  return tree;
}

test('an update is taken whole, each value as its declaration allows, or refused whole', () => {
  const given = fc.array(fc.tuple(anyKey, nearValue), { maxLength: 8 }).map((pairs) => new Map(pairs));
  fc.assert(
    fc.property(given, noise, (values, noisy) => {
      const update = readUpdate(treeOf(values, noisy));
      const writable = [...values.keys()].filter(isWritable);
      if (!update.ok) {
        expect(Object.keys(update.errors).length).toBeGreaterThan(0);
        for (const key of Object.keys(update.errors)) expect(writable).toContain(key);
        return;
      }
      expect([...update.changes.keys()].toSorted()).toEqual(writable.toSorted());
      for (const [key, value] of update.changes) expect(fits(settings[key].schema, value), key).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('what a client is shown, secrets aside, it may send back, and nothing changes', () => {
  const view = viewOf(defaultSettings);
  const update = readUpdate(view);
  if (!update.ok) throw new Error(JSON.stringify(update.errors));
  for (const [key, value] of update.changes) expect(value).toEqual(defaultSettings[key]);
  const writable = SETTING_KEYS.filter(isWritable);
  expect(update.changes.size).toBe(writable.length);
});
