// Blobs: the contract's blobs over files and two tables. References are counted by hash; leftovers are what a sweep deletes.
// L1 A file without a reference is listed as a leftover, from before it gets its name until after it is deleted: a sweep
//    need not look through the folders to find what a crash left behind.
// L2 A sweep and a placing of the same bytes do not meet: what is held is not deleted, and whoever places waits for a
//    deletion that has begun.

import { assert } from '../std/assert.ts';
import { FileDraft, type WrittenFile } from './blob-draft.ts';
import { BLOB_PIECE_BYTES, BlobFiles } from './blob-files.ts';
import type { BlobDraft, Blobs, OpenBlob, PlacedBlob, Storage, Table, Transaction } from './contract.ts';
import { DiskRoom } from './disk-room.ts';
import { storageFaults } from './faults.ts';

interface Reference {
  readonly count: number;
  readonly sizeBytes: number;
}

export class StoredBlobs implements Blobs {
  readonly #storage: Storage;
  readonly #primary: boolean;
  readonly #files: BlobFiles;
  readonly #room: DiskRoom;
  readonly #references: Table<Reference>;
  /** L1. */
  readonly #leftovers: Table<true>;
  /** Null while its file is being made. */
  readonly #drafts = new Map<string, FileDraft | null>();
  #draftsBegun = 0;
  /** How many hold it, by hash. */
  readonly #held = new Map<string, number>();
  readonly #deletions = new Map<string, Promise<void>>();
  #sweeping: Promise<void> = Promise.resolve();

  constructor(dataFolder: string, storage: Storage, primary: boolean) {
    this.#storage = storage;
    this.#primary = primary;
    this.#files = new BlobFiles(dataFolder);
    this.#room = new DiskRoom(dataFolder, () => 0);
    this.#references = storage.table({ name: 'blob_references' });
    this.#leftovers = storage.table({ name: 'blob_leftovers' });
  }

  async draft(): Promise<BlobDraft> {
    assert(this.#primary, 'the primary thread alone writes blobs');
    this.#draftsBegun += 1;
    const name = String(this.#draftsBegun);
    this.#drafts.set(name, null);
    try {
      const draft = new FileDraft({
        name,
        handle: await this.#files.createDraft(name),
        files: this.#files,
        room: this.#room,
        place: (file) => this.#place(file),
        onEnd: () => void this.#drafts.delete(name),
      });
      this.#drafts.set(name, draft);
      return draft;
    } catch (error) {
      this.#drafts.delete(name);
      throw error;
    }
  }

  retain(
    tx: Transaction,
    { sha256, sizeBytes }: { readonly sha256: string; readonly sizeBytes: number },
  ): void {
    const count = tx.get(this.#references, sha256)?.count ?? 0;
    assert(count > 0 || this.#held.has(sha256), 'a blob without a reference is held while it gets one');
    tx.put(this.#references, sha256, { count: count + 1, sizeBytes });
    tx.remove(this.#leftovers, sha256);
  }

  release(tx: Transaction, sha256: string): void {
    const reference = tx.get(this.#references, sha256);
    assert(reference !== undefined, 'only what has a reference loses one');
    if (reference.count > 1) {
      tx.put(this.#references, sha256, { ...reference, count: reference.count - 1 });
      return;
    }
    tx.remove(this.#references, sha256);
    tx.put(this.#leftovers, sha256, true);
  }

  async open(sha256: string): Promise<OpenBlob> {
    const handle = await this.#files.open(sha256);
    if (handle === null) throw storageFaults.blob_missing(`the blob ${sha256} is not there`);
    const { size } = await handle.stat();
    return {
      sizeBytes: size,
      async *read(first = 0, last = size - 1) {
        for (let position = first; position <= last; ) {
          const bytes = Buffer.allocUnsafeSlow(Math.min(BLOB_PIECE_BYTES, last + 1 - position));
          const { bytesRead } = await handle.read(bytes, 0, bytes.length, position);
          if (bytesRead === 0) throw storageFaults.blob_missing(`the blob ${sha256} was cut short`);
          yield bytes.subarray(0, bytesRead);
          position += bytesRead;
        }
      },
      close: () => handle.close(),
    };
  }

  pathOf(sha256: string): string {
    return this.#files.pathOf(sha256);
  }

  /** One at a time. */
  sweep(): Promise<void> {
    const sweep = this.#sweeping.then(() => this.#sweep());
    this.#sweeping = sweep.catch(() => undefined);
    return sweep;
  }

  /** Ends the drafts that nobody will. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#drafts.values(), (draft) => draft?.discard()));
  }

  async #sweep(): Promise<void> {
    assert(this.#primary, 'the primary thread alone deletes blobs');
    for (const name of await this.#files.draftNames()) {
      if (!this.#drafts.has(name)) await this.#files.removeDraft(name);
    }
    for (const { key } of this.#leftovers.range()) {
      const sha256 = key as string;
      if (this.#held.has(sha256) || !this.#leftovers.has(sha256)) continue; // L2
      const deletion = this.#delete(sha256);
      this.#deletions.set(sha256, deletion);
      try {
        await deletion;
      } finally {
        this.#deletions.delete(sha256);
      }
    }
  }

  async #delete(sha256: string): Promise<void> {
    await this.#files.remove(sha256);
    await this.#storage.write('committed', (tx) => void tx.remove(this.#leftovers, sha256)); // L1
  }

  async #place({ name, sha256, sizeBytes }: WrittenFile): Promise<PlacedBlob> {
    this.#hold(sha256);
    try {
      await this.#deletions.get(sha256)?.catch(() => undefined); // L2
      await this.#list(sha256);
      if ((await this.#files.sizeOf(sha256)) === sizeBytes) await this.#files.removeDraft(name);
      else await this.#files.put(name, sha256); // One that lost its file though it is referred to gets it back.
    } catch (error) {
      this.#letGo(sha256);
      throw error;
    }
    let isHeld = true;
    return {
      sha256,
      sizeBytes,
      letGo: () => {
        if (isHeld) this.#letGo(sha256);
        isHeld = false;
      },
    };
  }

  /** L1. */
  async #list(sha256: string): Promise<void> {
    if (this.#references.has(sha256) || this.#leftovers.has(sha256)) return;
    await this.#storage.write('flushed', (tx) => {
      if (tx.get(this.#references, sha256) === undefined) tx.put(this.#leftovers, sha256, true);
    });
  }

  #hold(sha256: string): void {
    this.#held.set(sha256, (this.#held.get(sha256) ?? 0) + 1);
  }

  #letGo(sha256: string): void {
    const holders = (this.#held.get(sha256) ?? 0) - 1;
    if (holders > 0) this.#held.set(sha256, holders);
    else this.#held.delete(sha256);
  }
}
