// Data folder: what the primary thread does before and after it opens the store that lies in it.
// D1 What forbids to start (a live process, a newer version) is found before anything is written.
// D2 The version beside the store is written last: a folder that says version n holds a store of version n.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isFault } from '../std/errors.ts';
import { assertNotLocked, type DataFolderLock, takeDataFolderLock } from './data-folder-lock.ts';
import { damaged, fullDisk, storageFaults, unwritable } from './faults.ts';

const VERSION_FILE = 'version.json';

export function storeIn(folder: string): string {
  return join(folder, 'store');
}

/** @throws Fault storage_locked, storage_newer_version, storage_unwritable, storage_full, storage_damaged. */
export function claimDataFolder(folder: string, latestVersion: number): DataFolderLock {
  assertVersion(versionIn(folder), latestVersion, folder);
  try {
    assertNotLocked(folder);
    createFolder(folder);
    return takeDataFolderLock(folder);
  } catch (error) {
    if (isFault(error)) throw error;
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC'
      ? fullDisk(folder, error)
      : unwritable(folder, error);
  }
}

export function assertVersion(version: number, latestVersion: number, folder: string): void {
  if (version <= latestVersion) return;
  throw storageFaults.storage_newer_version(
    `the data folder ${folder} was written by a newer Troupe (its version is ${version}, this one knows ${latestVersion})`,
    { details: { folder, version, latestVersion } },
  );
}

/** With those above it. By hand, because the recursive `mkdirSync` never ends below a folder that takes no entries (/proc). */
function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  if (!existsSync(parent)) createFolder(parent);
  mkdirSync(folder);
}

/** 0 when none is written. */
function versionIn(folder: string): number {
  let text: string;
  try {
    text = readFileSync(join(folder, VERSION_FILE), 'utf8');
  } catch {
    return 0; // A folder that is new, or cannot be read: taking its lock tells which.
  }
  try {
    const { version } = JSON.parse(text) as { readonly version?: unknown };
    if (typeof version === 'number') return version;
    throw new Error(`${VERSION_FILE} names no version`);
  } catch (error) {
    throw damaged(folder, error);
  }
}

export function writeVersion(folder: string, version: number): void {
  if (versionIn(folder) === version) return;
  const draft = join(folder, `${VERSION_FILE}.draft`);
  const file = openSync(draft, 'w');
  try {
    writeSync(file, `${JSON.stringify({ version })}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, join(folder, VERSION_FILE));
}
