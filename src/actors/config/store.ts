// Store: what was set, in one table keyed by setting. Defaults are not stored, so that a new default takes effect.
// W1 A secret is stored sealed, under its key as the label.
// W2 What cannot be read back (another key file, bounds that have changed since) counts as not set, and is reported.
// W3 A change is decided inside of the write, from what is stored then: two at once lose nothing.
// W4 A map of secrets that this key does not open is set aside, and not lost, when the map is saved anew: whoever saves one member
//    of it does not know of the others. It counts again when its key file is back, and then what was saved meanwhile is set aside.

import type { Sealer } from '../../std/sealing.ts';
import { fits } from '../../std/validation.ts';
import type { Key, Storage, Table } from '../../storage/contract.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';
import type { Changes } from './update.ts';

type StoredSetting =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'sealed'; readonly sealed: string }
  /** A map that holds secrets, as JSON. */
  | { readonly kind: 'sealed_json'; readonly sealed: string };

/** Why a stored value does not count. */
export type Unreadable = 'sealed with another key' | 'does not fit any more';

export interface LoadedSettings {
  readonly effective: Settings;
  readonly unreadable: ReadonlyMap<SettingKey, Unreadable>;
}

export interface SettingsStore {
  load(): LoadedSettings;
  /** Whether anything, null included, was ever set. */
  has(key: SettingKey): boolean;
  /** All or nothing; resolves when it is flushed. What `decide` throws is thrown, and nothing is changed. */
  save(decide: (current: Settings) => Changes): Promise<Changes>;
}

/** `initial` holds wherever nothing was set. */
export function settingsStore(storage: Storage, sealer: Sealer, initial: Settings): SettingsStore {
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

  const read = (get: (key: Key) => StoredSetting | undefined): LoadedSettings => {
    const effective: Record<string, unknown> = { ...initial };
    const unreadable = new Map<SettingKey, Unreadable>();
    for (const key of SETTING_KEYS) {
      const stored = get(key);
      if (stored === undefined) continue;
      let value = fromStored(key, stored);
      if (value === undefined) {
        const aside = get(asideOf(key)); // W4
        if (aside !== undefined) value = fromStored(key, aside);
      }
      if (fits(settings[key].schema, value)) effective[key] = value;
      else unreadable.set(key, value === undefined ? 'sealed with another key' : 'does not fit any more');
    }
    return { effective: effective as unknown as Settings, unreadable };
  };

  return {
    load: () => read((key) => table.get(key)),
    has: (key) => table.has(key),
    save: (decide) =>
      storage.write('flushed', (tx) => {
        const changes = decide(read((key) => tx.get(table, key)).effective); // W3
        for (const [key, value] of changes) {
          const before = tx.get(table, key);
          if (before?.kind === 'sealed_json' && fromStored(key, before) === undefined) {
            tx.put(table, asideOf(key), before); // W4
          }
          tx.put(table, key, toStored(key, value));
        }
        return changes;
      }),
  };
}

/** W4. */
function asideOf(key: SettingKey): Key {
  return [key, 'aside'];
}
