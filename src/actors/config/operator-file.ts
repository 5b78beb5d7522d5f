// Operator file: `settings.json` in the data folder, the word of whoever runs the service. It is read once, at the start.
// O1 It holds the same tree as an update. What it says takes the place of a default: what a client has set goes before it,
//    and keys that no client may set are set here only.
// O2 A file with a mistake in it stops the start and says where: half of a policy is no policy.
// O3 No secrets: they would lie there in the open. They have the environment, or the settings.

import { readFile } from 'node:fs/promises';
import { errorText } from '../../std/errors.ts';
import type { Setting } from './setting.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settings } from './settings.ts';
import { readSetting } from './update.ts';

export type OperatorSettings = Partial<Settings>;

/** Nothing when there is no such file. */
export async function readOperatorFile(path: string): Promise<OperatorSettings> {
  const text = await readIfPresent(path);
  if (text === undefined) return {};
  const mistakes: string[] = [];
  const values = readOperatorTree(parsed(text, path), mistakes);
  if (mistakes.length > 0) throw new Error(`${path}: ${mistakes.join('; ')}`); // O2
  return values;
}

function readOperatorTree(tree: unknown, mistakes: string[]): OperatorSettings {
  const values: Partial<Record<SettingKey, unknown>> = {};
  walk(
    tree,
    '',
    (key, given) => {
      if (!isSettingKey(key)) return false;
      const setting: Setting = settings[key];
      if (setting.secret) mistakes.push(`${key} is a secret and may not be in a file`);
      else {
        const read = readSetting(setting, given);
        if (read.ok) values[key] = read.value;
        else mistakes.push(`${key} ${read.error}`);
      }
      return true;
    },
    mistakes,
  );
  return values as OperatorSettings;
}

/** Goes down the sections until `take` knows the key. */
function walk(
  node: unknown,
  path: string,
  take: (key: string, value: unknown) => boolean,
  mistakes: string[],
): void {
  if (path !== '' && take(path, node)) return;
  if (typeof node !== 'object' || node === null || Array.isArray(node)) {
    mistakes.push(path === '' ? 'is no object' : `${path} is no setting`);
    return;
  }
  for (const [name, member] of Object.entries(node)) {
    walk(member, path === '' ? name : `${path}.${name}`, take, mistakes);
  }
}

function isSettingKey(key: string): key is SettingKey {
  return (SETTING_KEYS as readonly string[]).includes(key);
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
