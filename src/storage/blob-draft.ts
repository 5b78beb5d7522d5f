// Blob draft: one file while its bytes come. It is hashed as it is written, so that nobody reads it again to name it.
// D1 One piece after the other, whoever calls; nothing is written once it has ended.

import type { FileHandle } from 'node:fs/promises';
import { assert } from '../std/assert.ts';
import { openSha256 } from '../std/hashes.ts';
import type { BlobFiles } from './blob-files.ts';
import type { BlobDraft, PlacedBlob } from './contract.ts';
import type { DiskRoom } from './disk-room.ts';

export interface WrittenFile {
  readonly name: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface DraftParts {
  readonly name: string;
  readonly handle: FileHandle;
  readonly files: BlobFiles;
  readonly room: DiskRoom;
  /** Takes over the file, whose bytes are on disk. */
  readonly place: (file: WrittenFile) => Promise<PlacedBlob>;
  /** Nobody writes to it any more. */
  readonly onEnd: () => void;
}

export class FileDraft implements BlobDraft {
  readonly #parts: DraftParts;
  readonly #hash = openSha256();
  #sizeBytes = 0;
  #written: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(parts: DraftParts) {
    this.#parts = parts;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  write(bytes: Uint8Array): Promise<void> {
    assert(!this.#ended, 'a draft that has ended is not written to');
    const { files, handle, room } = this.#parts;
    const position = this.#sizeBytes;
    this.#sizeBytes += bytes.length;
    this.#hash.update(bytes);
    this.#written = this.#written.then(() => {
      room.takeForFile(bytes.length);
      return files.write(handle, bytes, position);
    });
    return this.#written; // D1: what follows a piece that failed fails too.
  }

  async place(): Promise<PlacedBlob> {
    assert(!this.#ended, 'a draft is placed once');
    this.#ended = true;
    const { name, handle, files, place, onEnd } = this.#parts;
    try {
      await this.#written;
      await files.sync(handle);
      await handle.close();
      return await place({ name, sha256: this.#hash.hex(), sizeBytes: this.#sizeBytes });
    } catch (error) {
      await this.#drop();
      throw error;
    } finally {
      onEnd();
    }
  }

  async discard(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#written.catch(() => undefined);
    await this.#drop();
    this.#parts.onEnd();
  }

  async #drop(): Promise<void> {
    const { name, handle, files } = this.#parts;
    await handle.close().catch(() => undefined);
    await files.removeDraft(name);
  }
}
