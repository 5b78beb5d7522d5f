// Faults of storage, and what the engine's and the system's error codes mean in these terms.

import { statfsSync } from 'node:fs';
import { declareFaults, errorText, type Fault, type FaultMaker, isFault } from '../std/errors.ts';

const declared = declareFaults({
  storage_locked: 'locked',
  storage_unwritable: 'unprocessable',
  storage_newer_version: 'unprocessable',
  storage_full: 'unavailable',
  storage_busy: 'unavailable',
  storage_damaged: 'internal',
  storage_key_invalid: 'invalid',
  storage_vector_invalid: 'invalid',
  blob_missing: 'internal',
});

/** `storage_locked` waits for a person, not for a retry. */
export const storageFaults: Readonly<Record<keyof typeof declared, FaultMaker>> = declared;

/** LMDB's own codes (lmdb.h); positive codes are errno. */
const ENGINE_FULL = new Set([-30792 /* MAP_FULL */, -30788 /* TXN_FULL */]);
const ENGINE_DAMAGED = new Set([-30797 /* PAGE_NOTFOUND */, -30796 /* CORRUPTED */, -30795 /* PANIC */]);
const FOREIGN_FILE = new Set([-30794 /* VERSION_MISMATCH */, -30793 /* INVALID */]);
const DISK_FULL = new Set([28 /* ENOSPC */, 122 /* EDQUOT */, 27 /* EFBIG */]);
const FORBIDDEN = new Set([1 /* EPERM */, 13 /* EACCES */, 30 /* EROFS */]);
const INPUT_OUTPUT = 5;

/** Below this a disk counts as full: LMDB reports a write that was cut short as an input/output error. */
const DISK_FREE_BYTES_MIN = 1024 * 1024;

/** The fault for an error of the engine; an error that is none of these is a bug and comes back as it is. */
export function faultOfEngine(error: unknown, directory: string): unknown {
  if (isFault(error)) return error;
  const code = (error as { readonly code?: unknown }).code;
  if (typeof code !== 'number') return error;
  if (isFull(code, directory)) {
    return fullDisk(directory, error);
  }
  if (FORBIDDEN.has(code)) {
    return unwritable(directory, error);
  }
  if (ENGINE_DAMAGED.has(code) || FOREIGN_FILE.has(code) || code === INPUT_OUTPUT) {
    return damaged(directory, error);
  }
  return error;
}

/** The fault for what the system says about a file that is not the engine's. */
export function faultOfFile(error: unknown, path: string): unknown {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error;
  if (DISK_FULL.has(-errno)) return fullDisk(path, error);
  return FORBIDDEN.has(-errno) ? unwritable(path, error) : error;
}

export function damaged(directory: string, error: unknown): Fault {
  return storageFaults.storage_damaged(`the data in ${directory} cannot be used: ${errorText(error)}`, {
    cause: error,
  });
}

export function fullDisk(directory: string, cause?: unknown): Fault {
  return storageFaults.storage_full(`the disk that holds ${directory} is full`, { cause });
}

export function unwritable(path: string, error: unknown): Fault {
  return storageFaults.storage_unwritable(`${path} cannot be written to: ${errorText(error)}`, {
    cause: error,
  });
}

export function isDiskFull(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize < DISK_FREE_BYTES_MIN;
}

function isFull(code: number, directory: string): boolean {
  if (ENGINE_FULL.has(code) || DISK_FULL.has(code)) return true;
  return code === INPUT_OUTPUT && isDiskFull(directory);
}
