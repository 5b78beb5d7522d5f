// Config actor: one on the edge thread. Holds the effective settings in memory and answers from there; the store is the
// truth, and is read again after every write.

import { sealer } from '../../std/sealing.ts';
import { fits } from '../../std/validation.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import '../services.ts';
import { createFollowers } from './followers.ts';
import { loadKey } from './key-file.ts';
import { config, configFaults } from './protocol.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';
import { type SettingsStore, settingsStore } from './store.ts';
import { type Changes, readSetting, readUpdate } from './update.ts';
import { viewOf } from './view.ts';

export interface ConfigArgs {
  /** The process's environment: gives first values to keys that were never set. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the key that seals stored secrets is, or will be. */
  readonly keyFile: string;
}

export const configActor = actor({
  module: import.meta.url,
  exportName: 'configActor',
  protocol: config,
  async setup(context: ActorContext<typeof config>, args: ConfigArgs) {
    const store = settingsStore(context.services.storage, sealer(await loadKey(args.keyFile)));
    await seed(store, args.environment, context);
    let effective = load(store, context);
    const followers = createFollowers();

    return {
      view: () => viewOf(effective),
      async update(tree) {
        const update = readUpdate(tree);
        if (!update.ok) {
          const keys = Object.keys(update.errors);
          throw configFaults.config_invalid(
            `Nothing was changed: ${keys.join(', ')} cannot take that value`,
            {
              details: { errors: update.errors },
            },
          );
        }
        await change(update.changes);
        const updated = [...update.changes.keys()];
        return { status: 'ok', message: sentenceOn(updated), updated };
      },
      settings: () => effective,
      async assign(values) {
        const changes = new Map(Object.entries(values)) as unknown as Map<SettingKey, unknown>;
        for (const [key, value] of changes) {
          if (!fits(settings[key].schema, value)) {
            throw configFaults.config_invalid(`${key} must be ${settings[key].expected}`);
          }
        }
        await change(changes);
        return {};
      },
      changes: (_message, { signal }) => followers.follow(signal),
    };

    async function change(changes: Changes): Promise<void> {
      if (changes.size === 0) return;
      await store.save(changes);
      effective = load(store, context);
      followers.publish([...changes.keys()]);
    }
  },
});

/** A key that was ever set, to null too, keeps its value: the environment only gives the first one. */
async function seed(
  store: SettingsStore,
  environment: ConfigArgs['environment'],
  context: ActorContext<typeof config>,
): Promise<void> {
  const changes = new Map<SettingKey, unknown>();
  for (const key of SETTING_KEYS) {
    const variable = settings[key].environment;
    const given = variable === undefined ? undefined : environment[variable]?.trim();
    if (!given || store.has(key)) continue;
    const read = readSetting(settings[key], given);
    if (read.ok) changes.set(key, read.value);
    else context.log.warn({ category: 'config', variable }, `${variable} is ignored: it ${read.error}`);
  }
  if (changes.size > 0) await store.save(changes);
}

function load(store: SettingsStore, context: ActorContext<typeof config>): Settings {
  const { effective, unreadable } = store.load();
  if (unreadable.length > 0) {
    context.log.warn(
      { category: 'config', settings: unreadable },
      'stored settings cannot be read and count as not set',
    );
  }
  return effective;
}

function sentenceOn(updated: readonly string[]): string {
  if (updated.length === 0) return 'Nothing to change.';
  return updated.length === 1 ? '1 setting changed.' : `${updated.length} settings changed.`;
}
