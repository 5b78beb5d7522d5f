// Installed package: Troupe as a host gets it, built, packed and installed into a temporary folder, in which the host's
// own files are written and run. The checkout's own dist is left alone.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const checkout = path.resolve(import.meta.dirname, '../..');
const tsc = path.join(checkout, 'node_modules/.bin/tsc');
/** A step that hangs fails with its own words, before the test's timeout says less. */
const STEP_MS_MAX = 110_000;
const SHIPPED_BESIDE_DIST = new Set(['package.json', 'README.md', 'LICENSE']);

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export interface InstalledPackage {
  /** Paths of all files in the package, sorted. */
  files(): Promise<string[]>;
  /** Runs a module of the host on this Node; rejects unless it ends by itself with 0. */
  runModule(source: string): Promise<Output>;
  /** Type-checks a module of the host; rejects with the compiler's words when it is wrong. */
  checkTypes(source: string): Promise<Output>;
  remove(): Promise<void>;
}

export async function openInstalledPackage(): Promise<InstalledPackage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'troupe-package-'));
  try {
    return await installInto(folder);
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
}

async function installInto(folder: string): Promise<InstalledPackage> {
  const staged = path.join(folder, 'staged');
  const host = path.join(folder, 'host');
  const step = (command: string, args: readonly string[], cwd: string): Promise<Output> =>
    run(command, args, { cwd, env: environmentOfHost(), timeout: STEP_MS_MAX });
  const writeHostFile = (name: string, text: string): Promise<void> => writeFile(path.join(host, name), text);

  await mkdir(staged);
  await mkdir(host);
  for (const name of await readdir(checkout)) {
    if (SHIPPED_BESIDE_DIST.has(name)) await cp(path.join(checkout, name), path.join(staged, name));
  }
  await step(
    process.execPath,
    [tsc, '-p', 'tsconfig.build.json', '--outDir', path.join(staged, 'dist')],
    checkout,
  );
  await step('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], staged);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack wrote no tarball');
  await writeHostFile('package.json', JSON.stringify({ private: true, type: 'module' }));
  const install = ['install', path.join(folder, tarball), '--prefer-offline', '--no-audit', '--no-fund'];
  await step('npm', install, host);

  return {
    async files() {
      const root = path.join(host, 'node_modules/troupe');
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))).sort();
    },
    async runModule(source) {
      await writeHostFile('host.mjs', source);
      return step(process.execPath, ['host.mjs'], host);
    },
    async checkTypes(source) {
      await writeHostFile('host.ts', source);
      await writeHostFile('tsconfig.json', JSON.stringify(HOST_TSCONFIG));
      return step(process.execPath, [tsc, '--noEmit'], host).catch((error: Output) => {
        throw new Error(error.stdout);
      });
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

const HOST_TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    // The package's own declarations are checked too.
    skipLibCheck: false,
    // The host's own @types/node; the checkout's, so that it need not be installed once more.
    types: ['node'],
    typeRoots: [path.join(checkout, 'node_modules/@types')],
  },
  files: ['host.ts'],
};

/** Without what `npm test` says about this package to the commands that it runs; with what the README tells a host to say. */
function environmentOfHost(): NodeJS.ProcessEnv {
  const kept = new Set(['npm_config_cache', 'npm_config_registry', 'npm_config_userconfig']);
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => kept.has(name.toLowerCase()) || !/^(npm_|node_env$|vitest)/i.test(name),
    ),
  );
  return { ...environment, ONNXRUNTIME_NODE_INSTALL: 'skip' };
}
