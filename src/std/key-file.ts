// Key file: the key that seals stored secrets, in a file of its own beside the data, readable by its owner only.
// It keeps secrets out of copies of the database, not from someone who can read the whole data folder.
// K1 The key is on disk before anything is sealed with it. K2 A file that is there is never replaced.
// K3 A file that others may read is closed to them, with a warning; where that is not allowed, it is refused.
// The first actor to load it makes it. A seal's label keeps apart what different actors seal with it.

import { chmod, mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText } from './errors.ts';
import { newSealingKey, SEALING_KEY_BYTES } from './sealing.ts';

const OWNER_ONLY = 0o600;

/** Reads the key, or makes one. The data folder belongs to one process, so nobody else makes one meanwhile. */
export async function loadKey(path: string, warn: (warning: string) => void): Promise<Uint8Array> {
  const existing = await readIfPresent(path);
  if (existing === undefined) return createKey(path);
  if (existing.length !== SEALING_KEY_BYTES) {
    throw new Error(`${path} is damaged: it has ${existing.length} bytes, not ${SEALING_KEY_BYTES}`);
  }
  if (((await stat(path)).mode & 0o777) !== OWNER_ONLY) await closeToOthers(path, warn);
  return existing;
}

/** K3. */
async function closeToOthers(path: string, warn: (warning: string) => void): Promise<void> {
  try {
    await chmod(path, OWNER_ONLY);
  } catch (error) {
    throw new Error(`${path} is open to others and cannot be closed: ${errorText(error)}`);
  }
  warn(
    `${path} was open to others, and is for its owner only now; who has read it can open a copy of the data`,
  );
}

async function readIfPresent(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function createKey(path: string): Promise<Uint8Array> {
  const key = newSealingKey();
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  // Written aside and renamed: a crash leaves a whole key or none.
  const unfinished = `${path}.new`;
  await using file = await open(unfinished, 'w', OWNER_ONLY);
  await file.writeFile(key);
  await file.sync();
  await rename(unfinished, path);
  await using handle = await open(folder, 'r');
  await handle.sync();
  return key;
}
