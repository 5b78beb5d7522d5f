// The compile cache: whatever `scripts/run.cjs` starts keeps what was compiled, its threads and children included.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

const RUN = fileURLToPath(new URL('../../scripts/run.cjs', import.meta.url));

/** Says which folder it uses itself, and which a thread of it uses. */
const ENTRY = `
import { getCompileCacheDir } from 'node:module';
import { isMainThread, Worker } from 'node:worker_threads';
const used: string | undefined = getCompileCacheDir();
console.log(used ?? 'none');
if (isMainThread) new Worker(new URL(import.meta.url));
`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-compiled-'));
  await writeFile(join(folder, 'entry.ts'), ENTRY);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** The folders that the process and its thread said. */
async function foldersUsed(environment: Readonly<Record<string, string>>): Promise<string[]> {
  const { NODE_COMPILE_CACHE: _, NODE_DISABLE_COMPILE_CACHE: __, ...inherited } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [RUN, join(folder, 'entry.ts')], {
    env: { ...inherited, ...environment },
  });
  return stdout.trimEnd().split('\n');
}

test('is used by the process and by its threads, beside the installed packages', async () => {
  const expected = expect.stringContaining(join('node_modules', '.cache', 'compiled'));
  expect(await foldersUsed({})).toEqual([expected, expected]);
});

test('lies elsewhere when the environment says so, and has the entry without its types', async () => {
  const elsewhere = join(folder, 'elsewhere');
  const expected = expect.stringContaining(elsewhere);
  expect(await foldersUsed({ NODE_COMPILE_CACHE: elsewhere })).toEqual([expected, expected]);
  expect((await readdir(elsewhere, { recursive: true })).length).toBeGreaterThan(1);
});

test('stays off when the environment says so', async () => {
  expect(await foldersUsed({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(['none', 'none']);
});
