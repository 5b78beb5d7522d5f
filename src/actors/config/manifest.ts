// Manifest: the declarations as clients see them, with today's values. Pure.
// M1 Versions are additive: 1 has the keys, 2 says more about each, 3 adds the pages. Whoever asks for a version gets it,
//    or the newest that there is.
// M2 A secret shows that it is set, and nothing of itself.
// M3 What is said about a key is worked out from its declaration, so that it cannot be untrue.

import type { ReplyFrom } from '../../supervisor/protocol.ts';
import type { config } from './protocol.ts';
import { MASK, redactedMap } from './redaction.ts';
import { SECTIONS, type SectionId } from './sections.ts';
import { type Setting, UPDATE_ROUTE } from './setting.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';

export const MANIFEST_VERSION = 3;

export type Manifest = ReplyFrom<typeof config, 'manifest'>;
type ManifestEntry = Manifest['entries'][number];

interface ManifestFacts {
  readonly effective: Settings;
  /** Per key, why what is stored under it does not count. */
  readonly errors: Readonly<Record<string, string>>;
  readonly generatedAt: string;
}

export function manifestOf({ effective, errors, generatedAt }: ManifestFacts, asked: number): Manifest {
  const version = Math.min(asked, MANIFEST_VERSION);
  const entries = SETTING_KEYS.map((key) => entryOf(key, effective[key], version));
  const countIn = (store: string): number => entries.filter((entry) => entry.store === store).length;
  return {
    version,
    generated_at: generatedAt,
    counts: { total: entries.length, memory: countIn('memory'), config: countIn('config') },
    entries,
    ...(version < 3 ? {} : { sections: sections() }),
    ...(Object.keys(errors).length === 0 ? {} : { errors }),
  };
}

function entryOf(key: SettingKey, value: unknown, version: number): ManifestEntry {
  const setting: Setting = settings[key];
  return {
    key,
    store: setting.route === UPDATE_ROUTE ? 'config' : 'memory',
    type: setting.type,
    default: setting.default,
    value: setting.secret ? shownSecret(value) : value,
    // A map that holds secrets is not one itself: a client would show it as a field for a password.
    secret: setting.secret && setting.type === 'str',
    writable_via: setting.writer === 'client' ? setting.route : null,
    ...(setting.membership === undefined
      ? {}
      : { role_member: setting.membership.member, role: setting.membership.role }),
    ...(version < 2 ? {} : axesOf(setting)),
  };
}

/** M2. */
function shownSecret(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return redactedMap(value);
  return value === null ? '' : MASK;
}

function axesOf(setting: Setting): Partial<ManifestEntry> {
  return {
    ...(setting.constraints === undefined ? {} : { constraints: setting.constraints }),
    tier: setting.tier,
    ui_section: setting.section,
    ...(setting.type === 'map' || setting.type === 'list' ? { write_mode: 'whole' } : {}),
    ...(setting.nullable ? { nullable: true } : {}),
    ...(setting.emptyMeans === undefined ? {} : { empty_means: setting.emptyMeans }),
    help: helpOf(setting),
  };
}

/** M3. */
export function helpOf(setting: Setting): NonNullable<ManifestEntry['help']> {
  return {
    summary: setting.summary,
    what: `Takes ${setting.expected}.`,
    ...(setting.emptyMeans === undefined ? {} : { how: `While it is empty, ${setting.emptyMeans}.` }),
    ...(setting.why === undefined ? {} : { why: setting.why }),
    manage: manageOf(setting),
  };
}

function manageOf({ writer, environment, inEffect }: Setting): string {
  const sentences = [
    {
      client: 'Set here; it holds from its next use on, without a restart.',
      noun: 'Set by routes of its own.',
      operator: 'Set by the operator, in settings.json in the data folder, which is read at the start.',
    }[writer],
    ...(environment === undefined ? [] : [`The environment variable ${environment} gives its first value.`]),
    ...(inEffect ? [] : ['It is kept, but nothing in this version reads it yet.']),
  ];
  return sentences.join(' ');
}

function sections(): NonNullable<Manifest['sections']> {
  return Object.entries(SECTIONS).map(([id, { label, group, ...help }]) => ({
    id,
    label,
    group,
    writable_count: writableCount(id as SectionId),
    help,
  }));
}

function writableCount(id: SectionId): number {
  return SETTING_KEYS.filter((key) => {
    const { section, writer }: Setting = settings[key];
    return section === id && writer === 'client';
  }).length;
}
