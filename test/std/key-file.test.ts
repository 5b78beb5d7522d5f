import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadKey } from '../../src/std/key-file.ts';

const ignore = (): void => undefined;

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'key-file-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('the key is made once, is the same from then on, and is for its owner only', async () => {
  const path = join(await folder(), 'data', 'secrets.key');
  const key = await loadKey(path, ignore);
  expect(key).toHaveLength(32);
  expect(Buffer.from(await loadKey(path, ignore)).equals(Buffer.from(key))).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a key file that others may read is closed to them', async () => {
  const path = join(await folder(), 'secrets.key');
  await loadKey(path, ignore);
  await chmod(path, 0o640);
  const warnings: string[] = [];
  await loadKey(path, (warning) => warnings.push(warning));
  await loadKey(path, (warning) => warnings.push(warning));
  expect(warnings).toEqual([expect.stringContaining('open to others')]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a damaged key file is reported and left alone', async () => {
  const path = join(await folder(), 'secrets.key');
  await writeFile(path, 'short');
  await expect(loadKey(path, ignore)).rejects.toThrow(/damaged/);
  expect((await stat(path)).size).toBe(5);
});
