// Data folder lock: one process at a time works in a data folder. Taken by the primary thread, held until it is released.
// L1 The lock is a file that appears whole (a hard link to a finished file) or not at all, and names its holder.
// L2 A live holder's folder is left as it is found.
// L3 A dead holder's lock is replaced only by the one process that holds the claim to it. The claim is named after the
//    content that it allows to replace, no two processes ever write the same content, and whoever holds a claim looks
//    once more whether that content still stands. The claim of a claimant that died is claimed in the same way.

import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from '../std/errors.ts';
import { sha256Hex } from '../std/hashes.ts';
import { systemRandom } from '../std/ids.ts';
import { storageFaults } from './faults.ts';
import { type Holder, identityOf, isAlive, parseHolder } from './lock-holder.ts';

const LOCK = 'lock';
const CLAIM = 'lock-claim-';
const DRAFT = 'lock-draft-';
/** Losing this often to others that come and go is no accident. */
const ATTEMPTS_MAX = 10;

export interface DataFolderLock {
  release(): void;
}

/** L2. @throws Fault storage_locked when a live process holds the folder. */
export function assertNotLocked(folder: string): void {
  const content = contentOf(join(folder, LOCK));
  if (content !== undefined) assertDead(content, folder);
}

/** @throws Fault storage_locked; and what the file system throws when the folder cannot be written to. */
export function takeDataFolderLock(folder: string): DataFolderLock {
  const nonce = systemRandom.uuid();
  const mine = JSON.stringify({ ...identityOf(process.pid), nonce } satisfies Holder & { nonce: string });
  const draft = join(folder, `${DRAFT}${nonce}`);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    assertNotLocked(folder);
    try {
      writeFileSync(draft, mine);
      if (tryLink(draft, join(folder, LOCK)) || replaceDead(folder, draft, LOCK)) {
        removeClaims(folder, () => true);
        return { release: () => release(folder, mine) };
      }
    } finally {
      rmSync(draft, { force: true });
      removeClaims(folder, (content) => content === mine);
    }
  }
  throw storageFaults.storage_locked(`other processes are taking the data folder ${folder}`);
}

function release(folder: string, mine: string): void {
  const path = join(folder, LOCK);
  if (contentOf(path) === mine) rmSync(path);
}

/** L3. Puts the draft in the place of `name`, whose holder must be dead. False when someone else was faster. */
function replaceDead(folder: string, draft: string, name: string): boolean {
  const path = join(folder, name);
  const dead = contentOf(path);
  if (dead === undefined) return false;
  assertDead(dead, folder);

  const claim = `${CLAIM}${sha256Hex(dead).slice(0, 32)}`;
  const isClaimed = tryLink(draft, join(folder, claim)) || replaceDead(folder, draft, claim);
  if (!isClaimed || contentOf(path) !== dead) return false;

  const copy = `${draft}-copy`; // The draft itself stays, for the next level.
  linkSync(draft, copy);
  renameSync(copy, path);
  return true;
}

/** @throws Fault storage_locked */
function assertDead(content: string, folder: string): void {
  const holder = parseHolder(content);
  // Only a loss of power leaves a lock without a legible holder, and whoever wrote it is gone with the power.
  if (holder !== undefined && isAlive(holder)) throw lockedBy(holder, folder);
}

function lockedBy(holder: Holder, folder: string): Fault {
  return storageFaults.storage_locked(
    `the data folder ${folder} is in use by process ${holder.pid}: stop that process, or choose another folder`,
    { retryable: false, details: { pid: holder.pid, folder } },
  );
}

function removeClaims(folder: string, isMeant: (content: string | undefined) => boolean): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name.startsWith(CLAIM) && isMeant(contentOf(path))) rmSync(path, { force: true });
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
