// Install lock: a folder that exists while one process installs the packages of this checkout.
//
// L1 The holder is the one file in it, named by its process id; inside is the id of the npm that works for it. When both
//    are dead, to take the lock over is to delete the file: of several who try, the file system lets exactly one succeed.
// L2 A folder without a holder belongs to nobody yet: it is removed, which succeeds only while it is empty.
// L3 Nobody waits longer than WAIT_MS_MAX.

'use strict';

const {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} = require('node:fs');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

const WAIT_MS_MAX = 15 * 60_000;
const POLL_MS = 200;
/** Between making the folder and writing the holder's file there are microseconds; this allows for a stopped process. */
const HOLDERLESS_MS_MAX = 5_000;

/** Resolves when this process is the holder. `shareWith` keeps the lock while that process lives, whatever becomes of this one. */
async function acquireInstallLock(folder, say) {
  const mine = path.join(folder, String(process.pid));
  const giveUpAtMs = Date.now() + WAIT_MS_MAX;
  let told = false;
  while (!tryAcquire(folder, mine)) {
    if (Date.now() > giveUpAtMs) {
      throw new Error(
        `another install has not ended for ${WAIT_MS_MAX / 60_000} minutes: is it stuck? Its lock is ${folder}.`,
      );
    }
    if (!told) say('another install of this checkout is under way: waiting for its end.');
    told = true;
    await pause(POLL_MS);
  }
  return {
    shareWith: (processId) => writeFileSync(mine, String(processId)),
    release() {
      attempt(() => unlinkSync(mine));
      attempt(() => rmdirSync(folder));
    },
  };
}

function tryAcquire(folder, mine) {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error.code !== 'EEXIST') throw new Error(`the checkout cannot be written: ${error.message}`);
    return takeOver(folder, mine);
  }
  return signIn(folder, mine);
}

function takeOver(folder, mine) {
  const [holder] = entriesOf(folder);
  if (holder === undefined) {
    if (ageMsOf(folder) > HOLDERLESS_MS_MAX) attempt(() => rmdirSync(folder)); // L2
    return false;
  }
  const theirs = path.join(folder, holder);
  if (isAlive(Number(holder)) || isAlive(workerOf(theirs)) || !attempt(() => unlinkSync(theirs)))
    return false; // L1
  return signIn(folder, mine);
}

/** Writes first and looks afterwards: of two who come here by L2, one at least sees the other and steps back. */
function signIn(folder, mine) {
  if (!attempt(() => writeFileSync(mine, ''))) return false;
  if (entriesOf(folder).length === 1) return true;
  attempt(() => unlinkSync(mine));
  return false;
}

/** Zero when there is none, or none yet. */
function workerOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

function isAlive(processId) {
  if (!Number.isInteger(processId) || processId <= 0) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function entriesOf(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function ageMsOf(folder) {
  try {
    return Date.now() - statSync(folder).mtimeMs;
  } catch {
    return 0;
  }
}

function attempt(step) {
  try {
    step();
    return true;
  } catch {
    return false;
  }
}

module.exports = { acquireInstallLock };
