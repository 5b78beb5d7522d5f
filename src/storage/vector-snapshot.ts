// VectorSnapshot: an index's graph as a file beside the store, and how it was judged, so that a start need not build it. Never the
// truth: what is missing, damaged or does not belong to this store is built anew.
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
import type { Judgement } from './graph-recall.ts';
import { StoredTable } from './table.ts';

const FOLDER = 'vectors';
const READ_BYTES = 1024 * 1024;
/** More than the store's own reserve (disk-room.ts). */
const DISK_FREE_BYTES_MIN = 256 * 1024 * 1024;

interface Row {
  /** Null when it was not worth keeping. */
  readonly graph: {
    readonly file: string;
    readonly bytes: number;
    readonly checksum: number;
    readonly capacity: number;
  } | null;
  readonly judgement: Judgement | null;
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

  /** Without a graph when there is none, or it is not what was written (S2). */
  async find(): Promise<{
    readonly graph: { readonly file: string; readonly capacity: number } | null;
    readonly judgement: Judgement | null;
  }> {
    const { graph, judgement } = this.#rows.get(this.#name) ?? { graph: null, judgement: null };
    await this.#tidy(graph?.file);
    if (graph === null) return { graph, judgement };
    const file = join(this.#folder, graph.file);
    try {
      const { size } = await stat(file);
      const isWhole = size === graph.bytes && (await checksumOf(file)) === graph.checksum;
      return { graph: isWhole ? { file, capacity: graph.capacity } : null, judgement };
    } catch {
      return { graph: null, judgement }; // Gone, or not to be read.
    }
  }

  /** False when the disk has no room for it (S3). @throws what the disk, the library or the store refused */
  async keep(
    graph: {
      readonly capacity: number;
      readonly bytes: number;
      readonly write: (file: string) => Promise<void>;
    },
    judgement: Judgement | null,
  ): Promise<boolean> {
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
    await this.#put({ graph: { file: name, bytes, checksum, capacity: graph.capacity }, judgement });
    return true;
  }

  /** Of a graph that is kept, or, without a width, is not worth it. */
  async judge(judgement: Judgement): Promise<void> {
    const kept = judgement.width === null ? null : (this.#rows.get(this.#name)?.graph ?? null);
    await this.#put({ graph: kept, judgement });
  }

  async forget(): Promise<void> {
    await this.#queue.write('flushed', (draft) => this.#rows.removeFrom(draft, this.#name));
    await this.#tidy(undefined);
  }

  async #put(row: Row): Promise<void> {
    await this.#queue.write('flushed', (draft) => this.#rows.putInto(draft, this.#name, row));
    await this.#tidy(row.graph?.file);
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
