// Storage for tests: the real store in a temporary folder that goes away with the `using` block or on `close`.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Storage } from '../../src/storage/contract.ts';
import { openStorage } from '../../src/storage/storage.ts';

export interface TemporaryFolder extends AsyncDisposable {
  readonly directory: string;
}

export interface TemporaryStorage extends TemporaryFolder {
  storage: Storage;
  /** Closes and opens again, as a restart would. */
  reopen(): Promise<Storage>;
  close(): Promise<void>;
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-test-'));
  return {
    directory,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** `await using data = await openTemporaryStorage()`, or call `close` yourself. */
export async function openTemporaryStorage(): Promise<TemporaryStorage> {
  const folder = await temporaryFolder();
  const { directory } = folder;
  const close = async (): Promise<void> => {
    await temporary.storage.close();
    await folder[Symbol.asyncDispose]();
  };
  const temporary: TemporaryStorage = {
    directory,
    storage: await openStorage({ directory, primary: true }),
    async reopen() {
      await temporary.storage.close();
      temporary.storage = await openStorage({ directory, primary: true });
      return temporary.storage;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return temporary;
}
