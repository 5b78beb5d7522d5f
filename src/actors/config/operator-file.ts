// Operator file: `settings.json` in the data folder, the word of whoever runs the service. It is read once, at the start.
// O1 It holds the same tree as an update. What it says takes the place of a default: what a client has set goes before it,
//    and keys that no client may set are set here only.
// O2 A file with a mistake in it stops the start and says where: half of a policy is no policy.
// O3 No secrets: they would lie there in the open. They have the environment, or the settings.

import { readFile } from 'node:fs/promises';
import { errorText } from '../../std/errors.ts';
import type { Setting } from './setting.ts';
import { type SettingKey, type Settings, settings } from './settings.ts';
import { type ReadSetting, readSetting } from './update.ts';

export type OperatorSettings = Partial<Settings>;

/** Nothing when there is no such file. */
export async function readOperatorFile(path: string): Promise<OperatorSettings> {
  const text = await readIfPresent(path);
  if (text === undefined) return {};
  const values: Partial<Record<SettingKey, unknown>> = {};
  const mistakes: string[] = [];
  for (const { key, given } of leavesOf(parsed(text, path))) {
    const read = isSettingKey(key) ? readOperatorSetting(settings[key], given) : NO_SETTING;
    if (read.ok) values[key as SettingKey] = read.value;
    else mistakes.push(`${key === '' ? 'the whole' : key} ${read.error}`);
  }
  if (mistakes.length > 0) throw new Error(`${path}: ${mistakes.join('; ')}`); // O2
  return values as OperatorSettings;
}

const NO_SETTING: ReadSetting = { ok: false, error: 'is no setting' };

function readOperatorSetting(setting: Setting, given: unknown): ReadSetting {
  return setting.secret
    ? { ok: false, error: 'is a secret, and may not be in a file' } // O3
    : readSetting(setting, given);
}

interface Leaf {
  /** Empty when the whole is no tree. */
  readonly key: string;
  readonly given: unknown;
}

/** Down the sections, to the settings and to what is neither. */
function* leavesOf(node: unknown, key = ''): Generator<Leaf> {
  if (isSettingKey(key) || typeof node !== 'object' || node === null || Array.isArray(node)) {
    yield { key, given: node };
    return;
  }
  for (const [name, member] of Object.entries(node)) {
    yield* leavesOf(member, key === '' ? name : `${key}.${name}`);
  }
}

function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(settings, key);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The whole message would quote the file.
    const [where = ''] = /[(]line \d+ column \d+[)]/.exec(errorText(error)) ?? [];
    throw new Error(`${path} is no JSON ${where}`.trimEnd());
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
