import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openRunStore } from '../../src/actors/runs/store.ts';
import type { Storage } from '../../src/storage/contract.ts';
import { latestVersionOf, MIGRATIONS, type Migration } from '../../src/storage/migrations.ts';
import { openMigrated, openStorage } from '../../src/storage/storage.ts';
import { folderOfThisTest } from '../support/storage.ts';

const LATEST = latestVersionOf(MIGRATIONS);

interface Person {
  readonly name: string;
  readonly nick?: string;
}

const peopleOf = (storage: Storage) => storage.table<Person>({ name: 'people' });

function nicknames(fails = false): Migration {
  return {
    version: LATEST + 1,
    summary: 'everyone has a nickname',
    migrate(tx, declarations) {
      const people = declarations.table<Person>({ name: 'people' });
      for (const { key, value } of tx.range(people))
        tx.put(people, key, { ...value, nick: value.name.slice(0, 1) });
      if (fails) throw new Error('out of names');
    },
  };
}

async function folderWithPeople(): Promise<string> {
  const directory = await folderOfThisTest();
  const storage = await openStorage({ directory, primary: true });
  await storage.write('flushed', (tx) => tx.put(peopleOf(storage), 1, { name: 'ada' }));
  await storage.close();
  return directory;
}

const versionIn = async (directory: string): Promise<unknown> =>
  JSON.parse(await readFile(join(directory, 'version.json'), 'utf8'));

describe('a migration', () => {
  test('changes the rows once, and the folder says its version afterwards', async () => {
    const directory = await folderWithPeople();
    expect(await versionIn(directory)).toEqual({ version: LATEST });
    for (let start = 0; start < 2; start += 1) {
      const storage = await openMigrated({ directory, primary: true }, [...MIGRATIONS, nicknames()]);
      expect(peopleOf(storage).get(1)).toEqual({ name: 'ada', nick: 'a' });
      await storage.close();
    }
    expect(await versionIn(directory)).toEqual({ version: LATEST + 1 });
  });

  test('that fails leaves the version before it, and the folder free', async () => {
    const directory = await folderWithPeople();
    const opened = openMigrated({ directory, primary: true }, [...MIGRATIONS, nicknames(true)]);
    await expect(opened).rejects.toThrow('out of names');
    const storage = await openStorage({ directory, primary: true });
    expect(peopleOf(storage).get(1)).toEqual({ name: 'ada' });
    await storage.close();
  });

  test('is not undone: an older Troupe refuses the store, also when the file beside it is not written yet', async () => {
    const directory = await folderWithPeople();
    const newer = await openMigrated({ directory, primary: true }, [...MIGRATIONS, nicknames()]);
    await newer.close();
    await expect(openStorage({ directory, primary: true })).rejects.toMatchObject({
      code: 'storage_newer_version',
    });

    await writeFile(join(directory, 'version.json'), JSON.stringify({ version: LATEST }));
    await expect(openStorage({ directory, primary: true })).rejects.toMatchObject({
      code: 'storage_newer_version',
    });
  });
});

test('the second one tells listed runs from blocking chats, and keeps the list', async () => {
  const directory = await folderOfThisTest();
  const before = await openMigrated({ directory, primary: true }, MIGRATIONS.slice(0, 1));
  const run = { user_id: 'ada', createdAtMs: 1, status: 'running', updatedAtMs: 1 };
  type OldRun = typeof run & { readonly isDetached: boolean };
  const old = before.table<OldRun, { byUser: (record: OldRun) => readonly [string, number] | null }>({
    name: 'runs',
    indexes: {
      byUser: (record) => (record.isDetached ? [record.user_id, record.createdAtMs] : null),
    },
  });
  await before.write('flushed', (tx) => {
    tx.put(old, 'a', { ...run, isDetached: true });
    tx.put(old, 'b', { ...run, isDetached: false });
  });
  await before.close();

  const storage = await openStorage({ directory, primary: true });
  const { records } = openRunStore(storage);
  expect(records.get('a')).toEqual({ ...run, origin: 'stream', resumes: 0 });
  expect(records.get('b')).toEqual({ ...run, origin: 'chat', resumes: 0 });
  expect(Array.from(records.by('byUser'), ({ key }) => key)).toEqual(['a']);
  await storage.close();
});

test('the fourth one finds documents that wait by their workspace', async () => {
  const directory = await folderOfThisTest();
  const document = {
    workspaceId: 'ws_1',
    userId: 'ada',
    filename: 'a.md',
    status: 'pending',
    pendingSinceMs: 2,
  };
  type Document = typeof document;
  const indexes = {
    by_name: ({ userId, workspaceId, filename }: Document) => [userId, workspaceId, filename],
    pending: ({ status, pendingSinceMs }: Document) => (status === 'pending' ? [pendingSinceMs] : null),
  };
  const before = await openMigrated({ directory, primary: true }, MIGRATIONS.slice(0, 3));
  const old = before.table<Document, typeof indexes>({ name: 'documents', indexes });
  await before.write('flushed', (tx) => {
    tx.put(old, 'waits', document);
    tx.put(old, 'ready', { ...document, filename: 'b.md', status: 'ready' });
  });
  await before.close();

  const storage = await openStorage({ directory, primary: true });
  const after = {
    ...indexes,
    pending_by_workspace: ({ status, userId, workspaceId, pendingSinceMs }: Document) =>
      status === 'pending' ? [userId, workspaceId, pendingSinceMs] : null,
  };
  const documents = storage.table<Document, typeof after>({ name: 'documents', indexes: after });
  const found = (index: keyof typeof after) => Array.from(documents.by(index), ({ key }) => key);
  expect([found('pending_by_workspace'), found('pending')]).toEqual([['waits'], ['waits']]);
  expect(found('by_name')).toEqual(['waits', 'ready']);
  await storage.write('flushed', (tx) => tx.put(documents, 'waits', { ...document, status: 'ready' }));
  expect([found('pending_by_workspace'), found('pending')]).toEqual([[], []]);
  expect(documents.count()).toBe(2);
  await storage.close();
});
