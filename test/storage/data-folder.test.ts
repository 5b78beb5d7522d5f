import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../src/std/hashes.ts';
import { identityOf } from '../../src/storage/lock-holder.ts';
import { latestVersionOf, MIGRATIONS } from '../../src/storage/migrations.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { folderOfThisTest, startHolder, storageOfThisTest } from '../support/storage.ts';

async function everythingIn(directory: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of (await readdir(directory, { recursive: true })).sort()) {
    const { mtimeMs, size, ino } = await stat(join(directory, name));
    found.set(name, `${ino} ${size} ${mtimeMs}`);
  }
  return found;
}

describe('the lock of a data folder', () => {
  test('refuses a second live process, names the first and the folder, and touches nothing', async () => {
    const { directory } = await storageOfThisTest();
    const before = await everythingIn(directory);
    const second = startHolder(directory);
    const { value: answer } = await second.lines().next();
    expect(answer).toContain('storage_locked: ');
    expect(answer).toContain(`process ${process.pid}`);
    expect(answer).toContain(directory);
    expect(await everythingIn(directory)).toEqual(before);
  });

  test('refuses a second primary in the same process too', async () => {
    const { directory } = await storageOfThisTest();
    const second = openStorage({ directory, primary: true });
    await expect(second).rejects.toMatchObject({ code: 'storage_locked', kind: 'locked', retryable: false });
  });

  test('is free again after closing', async () => {
    const { directory, storage } = await storageOfThisTest();
    await storage.close();
    expect(existsSync(join(directory, 'lock'))).toBe(false);
    const again = await openStorage({ directory, primary: true });
    await again.close();
  });

  test('of a process that was killed is taken over', async () => {
    const directory = await folderOfThisTest();
    const holder = startHolder(directory);
    expect((await holder.lines().next()).value).toBe('open');
    await holder.kill();
    expect(existsSync(join(directory, 'lock'))).toBe(true);
    const storage = await openStorage({ directory, primary: true });
    const lock = JSON.parse(await readFile(join(directory, 'lock'), 'utf8')) as { pid: number };
    expect(lock.pid).toBe(process.pid);
    await storage.close();
    expect((await readdir(directory)).sort()).toEqual(['store', 'version.json']);
  });

  test('is not taken for live because a later program has the same process id, or the machine has restarted', async () => {
    const directory = await folderOfThisTest();
    const alive = identityOf(process.pid);
    for (const dead of [
      { ...alive, startedAt: '1' },
      { ...alive, bootId: 'another boot' },
    ]) {
      await writeFile(join(directory, 'lock'), JSON.stringify(dead));
      const storage = await openStorage({ directory, primary: true });
      await storage.close();
    }
  });

  test('that a loss of power left empty is taken over', async () => {
    const directory = await folderOfThisTest();
    await writeFile(join(directory, 'lock'), '');
    const storage = await openStorage({ directory, primary: true });
    await storage.close();
  });

  test('of the dead goes to exactly one of those who reach for it at once', async () => {
    const directory = await folderOfThisTest();
    const dead = JSON.stringify({ ...identityOf(process.pid), startedAt: '1' });
    await writeFile(join(directory, 'lock'), dead);
    const contenders = Array.from({ length: 4 }, () => startHolder(directory));
    const answers = await Promise.all(
      contenders.map(async (one) => (await one.lines().next()).value as string),
    );
    expect(answers.filter((answer) => answer === 'open')).toHaveLength(1);
    expect(answers.filter((answer) => answer.startsWith('storage_locked'))).toHaveLength(3);
  });

  test('is taken over although the one who was taking it over died, too', async () => {
    const directory = await folderOfThisTest();
    const deadHolder = JSON.stringify({ ...identityOf(process.pid), startedAt: '1' });
    const deadClaimant = JSON.stringify({ ...identityOf(process.pid), startedAt: '2' });
    await writeFile(join(directory, 'lock'), deadHolder);
    await writeFile(join(directory, `lock-claim-${sha256Hex(deadHolder).slice(0, 32)}`), deadClaimant);
    const storage = await openStorage({ directory, primary: true });
    await storage.close();
    expect((await readdir(directory)).sort()).toEqual(['store', 'version.json']);
  });
});

describe('a data folder', () => {
  test('is created with the folders above it', async () => {
    const directory = join(await folderOfThisTest(), 'a', 'b');
    const storage = await openStorage({ directory, primary: true });
    await storage.close();
    expect(existsSync(join(directory, 'store', 'data.mdb'))).toBe(true);
  });

  test('that cannot be written to is refused by name', async () => {
    const parent = await folderOfThisTest();
    await writeFile(join(parent, 'file'), 'not a folder');
    for (const directory of [join(parent, 'file'), join(parent, 'file', 'below'), '/proc/troupe']) {
      const opened = openStorage({ directory, primary: true });
      await expect(opened).rejects.toMatchObject({ code: 'storage_unwritable' });
      await expect(opened).rejects.toThrow(directory);
    }
  });

  test('whose store is no store is refused, and not locked for the next try', async () => {
    const directory = await folderOfThisTest();
    await mkdir(join(directory, 'store'));
    await writeFile(join(directory, 'store', 'data.mdb'), 'x'.repeat(100_000));
    const opened = openStorage({ directory, primary: true });
    await expect(opened).rejects.toMatchObject({ code: 'storage_damaged', kind: 'internal' });
    expect(existsSync(join(directory, 'lock'))).toBe(false);
  });

  test('whose version cannot be read is refused', async () => {
    const directory = await folderOfThisTest();
    await writeFile(join(directory, 'version.json'), '{');
    await expect(openStorage({ directory, primary: true })).rejects.toMatchObject({
      code: 'storage_damaged',
    });
  });

  test('of a newer version is refused, and nothing in it is touched', async () => {
    const { directory, storage } = await storageOfThisTest();
    await storage.close();
    await writeFile(join(directory, 'version.json'), JSON.stringify({ version: 99 }));
    const before = await everythingIn(directory);
    const opened = openStorage({ directory, primary: true });
    await expect(opened).rejects.toMatchObject({
      code: 'storage_newer_version',
      details: { version: 99, latestVersion: latestVersionOf(MIGRATIONS) },
    });
    expect(await everythingIn(directory)).toEqual(before);
  });
});
