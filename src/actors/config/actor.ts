// Config actor: one on the edge thread. Holds the effective settings in memory and answers from there; the store is the
// truth, and is read again after every write, also after one that failed: its flush alone may have, and what is stored then is in
// force at the next start at the latest.

import { isDeepStrictEqual } from 'node:util';
import { isoTimestamp } from '../../std/clock.ts';
import { loadKey } from '../../std/key-file.ts';
import { sealer } from '../../std/sealing.ts';
import { fits } from '../../std/validation.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import '../services.ts';
import { contextLimitsOf, readContextLimits } from './context-limits.ts';
import { INHERIT, STAGE_MODEL_KEYS } from './declarations/memory.ts';
import { createFollowers } from './followers.ts';
import { MANIFEST_VERSION, manifestOf } from './manifest.ts';
import type { OperatorSettings } from './operator-file.ts';
import { config, configFaults } from './protocol.ts';
import { rolesOf } from './role-members.ts';
import type { Setting } from './setting.ts';
import { defaultSettings, SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';
import { type LoadedSettings, type SettingsStore, settingsStore } from './store.ts';
import { type Changes, readSetting, readUpdate } from './update.ts';
import { viewOf } from './view.ts';

export interface ConfigArgs {
  /** The process's environment: gives first values to keys that were never set. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the key that seals stored secrets is, or will be. */
  readonly keyFile: string;
  /** What the operator sets instead of the defaults: see operator-file.ts. */
  readonly operator: OperatorSettings;
}

type Context = ActorContext<typeof config>;

export const configActor = actor({
  module: import.meta.url,
  exportName: 'configActor',
  protocol: config,
  async setup(context: Context, args: ConfigArgs) {
    const key = await loadKey(args.keyFile, (warning) => context.log.warn({ category: 'config' }, warning));
    const initial = { ...defaultSettings, ...args.operator };
    const store = settingsStore(context.services.storage, sealer(key), initial);
    await seed(store, args.environment, context);
    let loaded = store.load();
    reportUnreadable(loaded, args.keyFile, context);
    const followers = createFollowers();

    return {
      view: () => viewOf(loaded.effective),
      async update(tree) {
        const read = readUpdate(tree);
        const changes = read.ok ? read.changes : refuse(read.errors);
        await change(() => changes);
        const updated = [...changes.keys()];
        return { status: 'ok', message: sentenceOn(updated), updated };
      },
      manifest: ({ version = MANIFEST_VERSION }) =>
        manifestOf(
          {
            effective: loaded.effective,
            errors: Object.fromEntries(loaded.unreadable),
            generatedAt: isoTimestamp(context.clock.nowMs()),
          },
          version,
        ),
      roles: () => rolesOf(loaded.effective),
      async adoptRoles() {
        await change(() => new Map(STAGE_MODEL_KEYS.map((key) => [key, INHERIT])));
        return { success: true, adopted: [...STAGE_MODEL_KEYS] };
      },
      contextLimits: () => contextLimitsOf(loaded.effective),
      async updateContextLimits(limits) {
        let updated: readonly string[] = [];
        await change((current) => {
          const reading = readContextLimits(limits, current['context_limits.models']);
          updated = reading.updated;
          return reading.read.ok ? reading.read.changes : refuse(reading.read.errors);
        });
        return { status: 'ok', updated: [...updated] };
      },
      settings: () => loaded.effective,
      async assign(values) {
        const changes = new Map(Object.entries(values)) as unknown as Map<SettingKey, unknown>;
        for (const [name, value] of changes) {
          if (!fits(settings[name].schema, value)) {
            throw configFaults.config_invalid(`${name} must be ${settings[name].expected}`);
          }
        }
        await change(() => changes);
        return {};
      },
      changes: (_message, { signal }) => followers.follow(signal),
    };

    async function change(decide: (current: Settings) => Changes): Promise<void> {
      const before = loaded.effective;
      try {
        const changes = await store.save(decide);
        if (changes.size === 0) return;
        loaded = store.load();
        followers.publish([...changes.keys()]);
      } catch (error) {
        loaded = store.load();
        const changed = SETTING_KEYS.filter((key) => !isDeepStrictEqual(before[key], loaded.effective[key]));
        if (changed.length > 0) followers.publish(changed);
        throw error;
      }
    }
  },
});

function refuse(errors: Readonly<Record<string, string>>): never {
  const message = `Nothing was changed: ${Object.keys(errors).join(', ')} cannot take that value`;
  throw configFaults.config_invalid(message, { details: { errors } });
}

/** A key that was ever set, to null too, keeps its value: the environment only gives the first one. */
async function seed(
  store: SettingsStore,
  environment: ConfigArgs['environment'],
  context: Context,
): Promise<void> {
  const changes = new Map<SettingKey, unknown>();
  for (const key of SETTING_KEYS) {
    const setting: Setting = settings[key];
    const variable = setting.environment;
    const given = variable === undefined ? undefined : environment[variable]?.trim();
    if (!given || store.has(key)) continue;
    const read = readSetting(setting, given);
    if (read.ok) changes.set(key, read.value);
    else context.log.warn({ category: 'config', variable }, `${variable} is ignored: it ${read.error}`);
  }
  if (changes.size > 0) await store.save(() => changes);
}

function reportUnreadable({ unreadable }: LoadedSettings, keyFile: string, context: Context): void {
  const keys = [...unreadable.keys()];
  const lost = keys.filter((key) => unreadable.get(key) === 'sealed with another key');
  const unfit = keys.filter((key) => !lost.includes(key));
  if (lost.length > 0) {
    context.log.error(
      { category: 'config', settings: lost },
      `secrets were sealed with another key than the one in ${keyFile}, and count as not set: put that file back, or save them again`,
    );
  }
  if (unfit.length > 0) {
    context.log.warn(
      { category: 'config', settings: unfit },
      'stored settings do not fit any more, and count as not set',
    );
  }
}

function sentenceOn(updated: readonly string[]): string {
  if (updated.length === 0) return 'Nothing to change.';
  return updated.length === 1 ? '1 setting changed.' : `${updated.length} settings changed.`;
}
