// VectorSnapshot: an index's graph as a file beside the store, so that a start need not build it. Never the truth: what is
// missing, damaged or does not belong to this store is built anew.
// S1 The store names the file and its checksum. The row is written when the file is whole and on disk; what else lies there
//    is of no use and removed. So an older store, brought back from a backup, does not take a younger graph for its own.
// S2 The checksum is proved before the library sees the file: it would follow damaged links anywhere.
// S3 A disk that has no room for it besides what the store keeps free gets none.

import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { sha256Hex } from '../std/hashes.ts';
import { systemRandom } from '../std/ids.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { View } from './draft.ts';
import { StoredTable } from './table.ts';

const FOLDER = 'vectors';
const READ_BYTES = 1024 * 1024;
/** More than the store's own reserve (disk-room.ts). */
const DISK_FREE_BYTES_MIN = 256 * 1024 * 1024;

interface Row {
  readonly file: string;
  readonly bytes: number;
  readonly checksum: number;
  readonly capacity: number;
}

export class VectorSnapshot {
  readonly #name: string;
  readonly #folder: string;
  /** Files of this index begin so. */
  readonly #prefix: string;
  readonly #rows: StoredTable<Row>;
  readonly #queue: CommitQueue;

  constructor(name: string, directory: string, committed: View, queue: CommitQueue) {
    this.#name = name;
    this.#folder = join(directory, FOLDER);
    this.#prefix = `${sha256Hex(name).slice(0, 16)}-`;
    this.#rows = new StoredTable<Row>({ name: 'vector snapshots' }, committed);
    this.#queue = queue;
  }

  /** Null when there is none, or it is not what was written (S2). */
  async find(): Promise<{ readonly file: string; readonly capacity: number } | null> {
    const row = this.#rows.get(this.#name);
    await this.#tidy(row?.file);
    if (row === undefined) return null;
    const file = join(this.#folder, row.file);
    try {
      const { size } = await stat(file);
      if (size !== row.bytes || (await checksumOf(file)) !== row.checksum) return null;
    } catch {
      return null; // Gone, or not to be read.
    }
    return { file, capacity: row.capacity };
  }

  /** False when the disk has no room for it (S3). @throws what the disk, the library or the store refused */
  async keep(graph: {
    readonly capacity: number;
    readonly bytes: number;
    readonly write: (file: string) => Promise<void>;
  }): Promise<boolean> {
    await mkdir(this.#folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < graph.bytes + DISK_FREE_BYTES_MIN) return false;
    const name = `${this.#prefix}${systemRandom.hex(16)}.graph`;
    const file = join(this.#folder, name);
    const draft = `${file}.draft`;
    await graph.write(draft);
    await flush(draft);
    const { size: bytes } = await stat(draft);
    const checksum = await checksumOf(draft);
    await rename(draft, file);
    await flush(this.#folder);
    const row: Row = { file: name, bytes, checksum, capacity: graph.capacity };
    await this.#queue.write('flushed', (draftOfStore) => this.#rows.putInto(draftOfStore, this.#name, row));
    await this.#tidy(name);
    return true;
  }

  async forget(): Promise<void> {
    await this.#queue.write('flushed', (draft) => this.#rows.removeFrom(draft, this.#name));
    await this.#tidy(undefined);
  }

  /** Removes all files of this index but one. What cannot be removed only takes room, and is tried again. */
  async #tidy(kept: string | undefined): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      if (!name.startsWith(this.#prefix) || name === kept) continue;
      await rm(join(this.#folder, name), { force: true }).catch(() => undefined);
    }
  }
}

async function checksumOf(file: string): Promise<number> {
  let checksum = 0;
  for await (const bytes of createReadStream(file, { highWaterMark: READ_BYTES })) {
    checksum = crc32(bytes as Buffer, checksum);
  }
  return checksum;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
