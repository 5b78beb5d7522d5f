// The kernel's guide as tests see it: its examples, each a whole program with the output that the guide promises, and a
// folder in which they run against the sources of this checkout.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const checkout = path.resolve(import.meta.dirname, '../..');
const TSC = path.join(checkout, 'node_modules/.bin/tsc');
/** An example takes well under a second; one that hangs fails with what it has printed so far. */
const EXAMPLE_MS_MAX = 20_000;

export interface Example {
  readonly file: string;
  readonly source: string;
  /** What the guide says that it prints. */
  readonly prints: string;
}

/** A block of code that begins with the name of its file, and the block of text that follows it. */
const EXAMPLE = /```ts\n(\/\/ (\S+\.ts)\n[\s\S]*?)```\s+```text\n([\s\S]*?)```/g;
const IMPORT = /import \{([^}]*)\} from '(troupe[^']*)'/g;

export async function readExamples(): Promise<Example[]> {
  const guide = await readFile(path.join(checkout, 'docs/kernel.md'), 'utf8');
  return Array.from(guide.matchAll(EXAMPLE), ([, source = '', file = '', prints = '']) => ({
    file,
    source,
    prints,
  }));
}

/** The values (not the types) that the examples import, by entry of the package. */
export function importsOf(examples: readonly Example[]): ReadonlyMap<string, ReadonlySet<string>> {
  const imports = new Map<string, Set<string>>();
  for (const { source } of examples) {
    for (const [, names = '', entry = ''] of source.matchAll(IMPORT)) {
      const known = imports.get(entry) ?? new Set();
      imports.set(entry, known);
      for (const name of names.split(',').map((one) => one.trim())) {
        if (name !== '' && !name.startsWith('type ')) known.add(name);
      }
    }
  }
  return imports;
}

export interface ExampleFolder {
  /** What the example prints; rejects when it fails, and when it does not end by itself. */
  run(file: string): Promise<string>;
  /** Rejects with the compiler's words when a type is wrong. */
  checkTypes(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * The folder is a package named as ours, so that `troupe/actors` means itself, and links to our sources: Node strips the
 * types of what lies outside of node_modules only.
 */
export async function openExampleFolder(examples: readonly Example[]): Promise<ExampleFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), 'troupe-examples-'));
  // The packages are for the compiler, which does not follow the link to see whose they are.
  for (const name of ['src', 'node_modules'])
    await symlink(path.join(checkout, name), path.join(folder, name));
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(PACKAGE));
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  for (const { file, source } of examples) await writeFile(path.join(folder, file), source);
  return {
    async run(file) {
      const { stdout, stderr } = await run(process.execPath, [file], {
        cwd: folder,
        timeout: EXAMPLE_MS_MAX,
      });
      return stdout + stderr;
    },
    async checkTypes() {
      await run(TSC, [], { cwd: folder }).catch((error: { stdout: string }) => {
        throw new Error(error.stdout);
      });
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

const PACKAGE = {
  name: 'troupe',
  private: true,
  type: 'module',
  exports: {
    './actors': './src/supervisor/index.ts',
    './actors/testkit': './src/supervisor/testkit/index.ts',
  },
};

const TSCONFIG = {
  extends: path.join(checkout, 'tsconfig.json'),
  include: ['*.ts'],
};
