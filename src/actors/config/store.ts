// Store: what was set, in one table keyed by setting. Defaults are not stored, so that a new default takes effect.
// W1 A secret is stored sealed, under its key as the label.
// W2 What cannot be read back (another key file, bounds that have changed since) counts as not set, and is reported.

import type { Sealer } from '../../std/sealing.ts';
import { fits } from '../../std/validation.ts';
import type { Storage, Table } from '../../storage/contract.ts';
import { defaultSettings, SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';
import type { Changes } from './update.ts';

type StoredSetting =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'sealed'; readonly sealed: string }
  /** A map that holds secrets, as JSON. */
  | { readonly kind: 'sealed_json'; readonly sealed: string };

export interface LoadedSettings {
  readonly effective: Settings;
  readonly unreadable: readonly SettingKey[];
}

export interface SettingsStore {
  load(): LoadedSettings;
  /** Whether anything, null included, was ever set. */
  has(key: SettingKey): boolean;
  /** All or nothing; resolves when it is flushed. */
  save(changes: Changes): Promise<void>;
}

export function settingsStore(storage: Storage, sealer: Sealer): SettingsStore {
  const table: Table<StoredSetting> = storage.table<StoredSetting>({ name: 'settings' });

  const toStored = (key: SettingKey, value: unknown): StoredSetting => {
    if (!settings[key].secret || value === null) return { kind: 'plain', value };
    return typeof value === 'string'
      ? { kind: 'sealed', sealed: sealer.seal(key, value) }
      : { kind: 'sealed_json', sealed: sealer.seal(key, JSON.stringify(value)) };
  };

  const fromStored = (key: SettingKey, stored: StoredSetting): unknown => {
    switch (stored.kind) {
      case 'plain':
        return stored.value;
      case 'sealed':
        return sealer.open(key, stored.sealed);
      case 'sealed_json': {
        const text = sealer.open(key, stored.sealed);
        return text === undefined ? undefined : JSON.parse(text);
      }
    }
  };

  return {
    load() {
      const effective: Record<string, unknown> = { ...defaultSettings };
      const unreadable: SettingKey[] = [];
      for (const key of SETTING_KEYS) {
        const stored = table.get(key);
        if (stored === undefined) continue;
        const value = fromStored(key, stored);
        if (fits(settings[key].schema, value)) effective[key] = value;
        else unreadable.push(key);
      }
      return { effective: effective as unknown as Settings, unreadable };
    },
    has: (key) => table.has(key),
    async save(changes) {
      await storage.write('flushed', (tx) => {
        for (const [key, value] of changes) tx.put(table, key, toStored(key, value));
      });
    },
  };
}
