// Disk room: refuses a commit before the disk is full. The engine must not be the one to notice: it describes a failed write
// in a buffer that is too small for it, which ends the process sooner or later.
// D1 A reserve stays free. What other threads and other programs write between our look and the engine's write fits in it.
// D2 In the upper half of the reserve only commits go on that give room back, or that fit into room given back earlier.
// D3 When it has to refuse it looks anew: freed space is used at once.

import { statfsSync } from 'node:fs';
import { systemClock } from '../std/clock.ts';
import type { Change } from './environment.ts';
import { fullDisk } from './faults.ts';

const RESERVE_BYTES_MAX = 64 * 1024 * 1024;
const RESERVE_BYTES_MIN = 1024 * 1024;
/** Of a small disk. */
const RESERVE_SHARE = 1 / 20;
/** In between, what was committed is subtracted. */
const LOOK_EVERY_MS = 2;
/** A change may touch a page of the tree, which is then written anew. */
const TREE_BYTES_PER_CHANGE = 4_096;
/** A commit that removes something, or lets it be removed, and writes no more than this makes room. */
const GIVING_BACK_BYTES_MAX = 4_096;

export class DiskRoom {
  readonly #directory: string;
  /** What was given back to the engine and not used again. */
  readonly #reusableBytes: () => number;
  #freeBytes = 0;
  #reserveBytes = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(directory: string, reusableBytes: () => number) {
    this.#directory = directory;
    this.#reusableBytes = reusableBytes;
  }

  /** @throws Fault storage_full */
  take(changes: readonly Change[], makesRoom = false): void {
    const bytes = bytesOf(changes) + changes.length * TREE_BYTES_PER_CHANGE;
    if (this.#isStale() || !this.#isAmple(bytes)) this.#look();
    if (!this.#isAmple(bytes) && !this.#isBearable(bytes, changes, makesRoom))
      throw fullDisk(this.#directory);
    this.#freeBytes -= bytes;
  }

  /** For bytes of a file beside the store. @throws Fault storage_full */
  takeForFile(bytes: number): void {
    if (this.#isStale() || !this.#isAmple(bytes)) this.#look();
    if (!this.#isAmple(bytes)) throw fullDisk(this.#directory);
    this.#freeBytes -= bytes;
  }

  #isStale(): boolean {
    return systemClock.monotonicMs() - this.#lookedAtMs > LOOK_EVERY_MS;
  }

  /** D1. */
  #isAmple(bytes: number): boolean {
    return this.#freeBytes - bytes >= this.#reserveBytes;
  }

  /** D2. */
  #isBearable(bytes: number, changes: readonly Change[], makesRoom: boolean): boolean {
    if (this.#freeBytes < this.#reserveBytes / 2) return false;
    return givesBack(changes, makesRoom) || this.#reusableBytes() >= 2 * bytes;
  }

  #look(): void {
    const { bavail, blocks, bsize } = statfsSync(this.#directory);
    const share = blocks * bsize * RESERVE_SHARE;
    this.#freeBytes = bavail * bsize;
    this.#reserveBytes = Math.min(Math.max(share, RESERVE_BYTES_MIN), RESERVE_BYTES_MAX);
    this.#lookedAtMs = systemClock.monotonicMs();
  }
}

function bytesOf(changes: readonly Change[]): number {
  return changes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
}

function givesBack(changes: readonly Change[], makesRoom: boolean): boolean {
  const written = changes.filter(({ value }) => value !== undefined);
  return (makesRoom || written.length < changes.length) && bytesOf(written) <= GIVING_BACK_BYTES_MAX;
}
