// Update: reads the tree of sections that a client sends. Pure.
// U1 All or nothing: one refused key and the result is errors only.
// U2 What is not declared, or not writable, is passed over in silence: the tree is only looked up, never walked.
// U3 A redacted secret never comes back as a secret.

import { fits } from '../../std/validation.ts';
import { isRedacted } from './redaction.ts';
import { type Setting, UPDATE_ROUTE } from './setting.ts';
import { SETTING_KEYS, type SettingKey, settings } from './settings.ts';

export type Changes = ReadonlyMap<SettingKey, unknown>;

export type ReadUpdate =
  | { readonly ok: true; readonly changes: Changes }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

export function readUpdate(tree: Readonly<Record<string, unknown>>): ReadUpdate {
  const changes = new Map<SettingKey, unknown>();
  const errors: Record<string, string> = {};
  for (const key of SETTING_KEYS) {
    const setting: Setting = settings[key];
    if (setting.writer !== 'client' || setting.route !== UPDATE_ROUTE) continue; // U2
    const given = lookUp(tree, key);
    if (given === undefined) continue;
    const read = readSetting(setting, given);
    if (read.ok) changes.set(key, read.value);
    else errors[key] = read.error;
  }
  return Object.keys(errors).length === 0 ? { ok: true, changes } : { ok: false, errors };
}

export type ReadSetting =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

/** One value, from a client or from the environment. */
export function readSetting(setting: Setting, given: unknown): ReadSetting {
  if (setting.secret && isRedacted(given)) {
    return { ok: false, error: 'is a redacted value; leave the key out to keep what is stored' };
  }
  const trimmed = typeof given === 'string' && !setting.verbatim ? given.trim() : given;
  const value = setting.nullable && trimmed === '' ? null : trimmed;
  return fits(setting.schema, value)
    ? { ok: true, value }
    : { ok: false, error: `must be ${setting.expected}` };
}

/** Own members only: a key like `constructor` finds nothing. */
function lookUp(tree: unknown, key: string): unknown {
  let at = tree;
  for (const segment of key.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, segment)) return undefined;
    at = (at as Record<string, unknown>)[segment];
  }
  return at;
}
