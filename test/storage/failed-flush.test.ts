// A disk that fails to flush, as the engine (3.5.6) was seen to take it where `fdatasync` answers EIO: the commit is there, is refused
// all the same, and whoever waits for it to be flushed, or closes behind it, is never told.

import type { RootDatabase } from 'lmdb';
import { beforeEach, expect, test, vi } from 'vitest';
import { openStorage } from '../../src/storage/storage.ts';
import { folderOfThisTest } from '../support/storage.ts';

const INPUT_OUTPUT = 5;
const NEVER = new Promise<never>(() => undefined);
const disk = vi.hoisted(() => ({ isFailing: false }));
beforeEach(() => {
  disk.isFailing = false;
});

vi.mock('lmdb', async (importOriginal) => {
  const lmdb = await importOriginal<typeof import('lmdb')>();
  const flaky = (root: RootDatabase): RootDatabase => {
    let isForgotten = false;
    const instead: Partial<RootDatabase> = {
      batch: (...given: Parameters<typeof root.batch>) => {
        isForgotten = disk.isFailing;
        const committed = root.batch(...given);
        if (!disk.isFailing) return committed;
        return committed.then(() => {
          const commitError = Promise.reject(Object.assign(new Error('EIO'), { code: INPUT_OUTPUT }));
          throw Object.assign(new Error('Commit failed'), { commitError });
        });
      },
      close: () => (isForgotten ? NEVER : root.close()),
    };
    return new Proxy(root, {
      get(_, name) {
        if (name === 'flushed') return isForgotten ? NEVER : root.flushed;
        const member = Reflect.get(name in instead ? instead : root, name);
        return typeof member === 'function' ? member.bind(root) : member;
      },
    });
  };
  return { ...lmdb, open: (options: Parameters<typeof lmdb.open>[0]) => flaky(lmdb.open(options)) };
});

async function openRows() {
  const storage = await openStorage({ directory: await folderOfThisTest(), primary: true });
  return { storage, rows: storage.table<string>({ name: 'rows' }) };
}

test('keeps nobody waiting who comes behind it, also where nothing is to be committed', async () => {
  const { storage, rows } = await openRows();
  disk.isFailing = true;
  const failed = storage.write('flushed', (tx) => tx.put(rows, 'a', 'refused'));
  await expect(failed).rejects.toMatchObject({ code: 'storage_damaged' });
  const unflushed = storage.write('flushed', (tx) => tx.get(rows, 'a'));
  await expect(unflushed).rejects.toMatchObject({ code: 'storage_damaged' });
  disk.isFailing = false;
  expect(await storage.write('flushed', (tx) => tx.get(rows, 'a'))).toBe('refused');
  await storage.write('flushed', (tx) => tx.put(rows, 'a', 'taken'));
  await storage.flushed();
  await storage.close();
});

test('keeps no storage from being flushed, or closed, behind it', async () => {
  const { storage, rows } = await openRows();
  const fail = async (): Promise<void> => {
    disk.isFailing = true;
    await expect(storage.write('committed', (tx) => tx.put(rows, 'a', ''))).rejects.toThrow();
    disk.isFailing = false;
  };
  await fail();
  await storage.flushed();
  await fail();
  await storage.close();
});

test('keeps no storage open that it never flushes again', async () => {
  const { storage, rows } = await openRows();
  disk.isFailing = true;
  await expect(storage.write('committed', (tx) => tx.put(rows, 'a', ''))).rejects.toThrow();
  await storage.close();
});
