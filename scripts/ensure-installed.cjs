// Installs the packages of package-lock.json when node_modules is missing or stale. The pre-script of every npm script.
//
// N1 Plain CommonJS on Node built-ins: it runs on whatever Node the machine has (18 or newer), before ours is there.
// N2 Fresh means: everything the lockfile asks for is installed, as npm recorded after its last complete install, and the
//    pinned Node starts. Then it prints nothing and costs some 50 ms.
// N3 One install at a time for one checkout; a second caller waits, and then finds everything fresh.
// N4 Standard output stays the caller's: all that is said here, npm's own words included, goes to standard error.

'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { acquireInstallLock } = require('./install-lock.cjs');

const root = path.dirname(__dirname);
const modules = path.join(root, 'node_modules');
const pinnedNode = path.join(modules, '.bin', 'node');
const PINNED_NODE_START_MS = 30_000;

// Settings of the outer npm command that npm hands down to its scripts, and that would change what is installed or where.
const SETTINGS_NOT_INHERITED = new Set([
  'also',
  'dev',
  'dry_run',
  'global',
  'include',
  'install_strategy',
  'local_prefix',
  'location',
  'omit',
  'only',
  'optional',
  'package_lock',
  'package_lock_only',
  'prefix',
  'production',
  'workspace',
  'workspaces',
]);

main().catch((error) => {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});

async function main() {
  if (reasonToInstall() === undefined) return;
  const lock = await acquireInstallLock(path.join(root, '.install-lock'), say);
  try {
    // Whoever held the lock before may have installed everything.
    const reason = reasonToInstall();
    if (reason === undefined) return;
    say(`${reason}: installing the packages of package-lock.json (npm ci).`);
    await install(lock);
    const stillWrong = reasonToInstall();
    if (stillWrong !== undefined) {
      throw new Error(
        `npm ci succeeded, but ${stillWrong}. Are install scripts switched off (npm config get ignore-scripts)?`,
      );
    }
  } finally {
    lock.release();
  }
}

/** Why an install is needed, or undefined when nothing is. */
function reasonToInstall() {
  if (!existsSync(modules)) return 'node_modules is missing';
  const wanted = packagesOf(path.join(root, 'package-lock.json'));
  if (wanted === undefined)
    throw new Error('package-lock.json is missing or unreadable: restore it from git.');
  // npm writes this one last, when every package is unpacked and every install script has succeeded.
  const installed = packagesOf(path.join(modules, '.package-lock.json'));
  if (installed === undefined) return 'node_modules is incomplete';
  for (const [location, { version, integrity, optional, devOptional }] of Object.entries(wanted)) {
    if (location === '') continue;
    const present = installed[location];
    // Left out by npm where it does not fit the platform.
    if (present === undefined && (optional || devOptional)) continue;
    if (present === undefined || !existsSync(path.join(root, location))) return `${location} is missing`;
    if (present.version !== version || present.integrity !== integrity) return `${location} is stale`;
  }
  const version = spawnSync(pinnedNode, ['--version'], {
    encoding: 'utf8',
    timeout: PINNED_NODE_START_MS,
  }).stdout;
  if (version?.trim() !== `v${wanted['node_modules/node'].version}`) return 'the pinned Node does not start';
  return undefined;
}

function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function install(lock) {
  const [command, args] = npmCommand();
  // Development packages always: the pinned Node is one of them, also for NODE_ENV=production.
  const npm = spawn(
    command,
    [...args, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'],
    // A process group of its own, so that all of it can be ended.
    { cwd: root, env: environmentOfInstall(), stdio: ['ignore', 2, 2], detached: true },
  );
  if (npm.pid !== undefined) lock.shareWith(npm.pid);
  // npm goes on after a polite signal. Killing it is safe: what it leaves is incomplete, and the next start begins anew.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => killGroup(npm));
  return new Promise((resolve, reject) => {
    npm.once('error', (error) => reject(new Error(`npm could not be started (${error.message}).`)));
    npm.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else if (signal !== null)
        reject(new Error('the install was interrupted; the next start begins it anew.'));
      else reject(new Error(`npm ci failed (exit code ${code}): its own words above say why.`));
    });
  });
}

function killGroup(npm) {
  try {
    process.kill(-npm.pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** The npm that runs this script, on a Node outside of node_modules, which npm ci is about to delete. */
function npmCommand() {
  const npm = process.env.npm_execpath;
  const nodeSurvives = !path.resolve(process.execPath).startsWith(modules + path.sep);
  return npm?.endsWith('.js') && nodeSurvives ? [process.execPath, [npm]] : ['npm', []];
}

function environmentOfInstall() {
  const environment = {};
  for (const [name, value] of Object.entries(process.env)) {
    const setting = /^npm_config_(.*)$/i.exec(name)?.[1].toLowerCase().replaceAll('-', '_');
    if (setting === undefined || !SETTINGS_NOT_INHERITED.has(setting)) environment[name] = value;
  }
  const outside = (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter((entry) => !entry.startsWith(modules));
  environment.PATH = outside.join(path.delimiter);
  // Its script would download libraries for graphics cards, and fails without a network.
  environment.ONNXRUNTIME_NODE_INSTALL = 'skip';
  return environment;
}

function say(text) {
  process.stderr.write(`troupe: ${text}\n`);
}
