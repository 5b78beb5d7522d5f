// Blob files: where blobs lie in the data folder, and what is done with their files. Two levels of folders keep each small.
// F1 A file has its name when its bytes are on disk, and the name is on disk when `put` resolves.
// F2 What the system refuses for want of room or of rights is a fault of storage.

import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { faultOfFile } from './faults.ts';

/** What one read takes, and what a slow reader holds of it. */
export const BLOB_PIECE_BYTES = 64 * 1024;

export class BlobFiles {
  readonly #folder: string;
  readonly #drafts: string;

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'blobs');
    this.#drafts = join(this.#folder, 'drafts');
  }

  pathOf(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  }

  draftPath(name: string): string {
    return join(this.#drafts, name);
  }

  async createDraft(name: string): Promise<FileHandle> {
    return this.#careful(async () => {
      await mkdir(this.#drafts, { recursive: true });
      return open(this.draftPath(name), 'w', 0o600);
    });
  }

  /** F2. */
  async write(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
    await this.#careful(async () => {
      for (let written = 0; written < bytes.length; ) {
        const left = bytes.length - written;
        written += (await handle.write(bytes, written, left, position + written)).bytesWritten;
      }
    });
  }

  sync(handle: FileHandle): Promise<void> {
    return this.#careful(() => handle.sync());
  }

  /** F1. */
  async put(draftName: string, sha256: string): Promise<void> {
    const path = this.pathOf(sha256);
    await this.#careful(async () => {
      await this.#createFolder(dirname(path));
      await rename(this.draftPath(draftName), path);
      await syncFolder(dirname(path));
    });
  }

  /** Null where there is none. */
  async sizeOf(sha256: string): Promise<number | null> {
    try {
      return (await stat(this.pathOf(sha256))).size;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** Null where there is none. */
  async open(sha256: string): Promise<FileHandle | null> {
    try {
      return await open(this.pathOf(sha256), 'r');
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  remove(sha256: string): Promise<void> {
    return rm(this.pathOf(sha256), { force: true });
  }

  removeDraft(name: string): Promise<void> {
    return rm(this.draftPath(name), { force: true });
  }

  async draftNames(): Promise<readonly string[]> {
    try {
      return await readdir(this.#drafts);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** With its names on disk, from the topmost that is new. */
  async #createFolder(folder: string): Promise<void> {
    const topmost = await mkdir(folder, { recursive: true });
    if (topmost === undefined) return;
    for (let made = folder; ; made = dirname(made)) {
      await syncFolder(dirname(made));
      if (made === topmost) return;
    }
  }

  async #careful<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw faultOfFile(error, this.#folder);
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
