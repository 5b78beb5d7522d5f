// Store file: what must hold before the engine may open its file. The engine does not report these, it crashes on them.

import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { damaged, fullDisk, isDiskFull, unwritable } from './faults.ts';

export const STORE_FILE = 'data.mdb';
const ENGINE_LOCK_FILE = 'lock.mdb';

/** LMDB's first meta page, little endian, data version 2 (as lmdb-js builds it). */
const MAGIC = 0xbeefc0de;
const MAGIC_AT = 24;
const DATA_VERSION = 2;
const DATA_VERSION_AT = 28;
const HEADER_BYTES = 32;
/** Two meta pages of the smallest size. */
const FILE_BYTES_MIN = 2 * 512;

/** @throws Fault storage_unwritable, storage_full, storage_damaged. `directory` exists. */
export function assertStoreUsable(directory: string): void {
  for (const path of [directory, join(directory, STORE_FILE), join(directory, ENGINE_LOCK_FILE)]) {
    if (existsSync(path)) assertWritable(path);
  }
  const file = join(directory, STORE_FILE);
  if (existsSync(file)) assertStoreFile(file, directory);
  else if (isDiskFull(directory)) throw fullDisk(directory);
}

function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function assertStoreFile(path: string, directory: string): void {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (size === 0) return; // Created by a process that died before it wrote.
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(file, header, 0, HEADER_BYTES, 0);
    const isStore =
      size >= FILE_BYTES_MIN &&
      header.readUInt32LE(MAGIC_AT) === MAGIC &&
      header.readUInt32LE(DATA_VERSION_AT) === DATA_VERSION;
    if (!isStore) throw damaged(directory, new Error(`${STORE_FILE} is not an LMDB file of this version`));
  } finally {
    closeSync(file);
  }
}
