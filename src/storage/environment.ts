// Environment: one LMDB environment as one thread sees it. The only file that knows the engine.
// V1 `read` and `scan` begin with the latest commit of any thread; `refresh` moves a whole series of reads there.
// V2 A commit is written down completely before the engine begins it, and is then carried out by a thread of the engine:
//    the lock for writers is never held while JavaScript runs. A thread that is busy, loops for good or is killed
//    cannot stop the writers of other threads, nor leave half a commit.
// V3 A commit is all or nothing. When it fails, everything stays usable. One for which the disk has no room is refused
//    before the engine begins it (disk-room.ts).
// V4 The engine tells nobody any more what becomes of a commit that failed: who waits for it to be on disk, or closes behind it,
//    would wait for ever. So another one is made first, and waited for.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { isFault } from '../std/errors.ts';
import { DiskRoom } from './disk-room.ts';
import { damaged, faultOfEngine } from './faults.ts';
import { assertStoreUsable, STORE_FILE } from './store-file.ts';

/** Address space, not memory or disk; the engine doubles it when it is used up. */
const MAP_BYTES = 16 * 1024 ** 3;
/** Each thread takes a slot or two; slots of the dead are freed. */
const READERS_MAX = 1_024;
const DATABASES_MAX = 4;
/** The two that name the latest commit. */
const HEAD_PAGES = 2;

/** Rows, index entries and postings; spans of journals apart, whose keys come in another order and volume; the journals' log. */
export type SpaceName = 'rows' | 'journals' | 'log';
type Space = Database<Buffer, Buffer>;

/** All keys from `lower` up to, and without, `upper`. */
export interface ByteRange {
  readonly lower: Buffer;
  readonly upper: Buffer;
}

export interface Pair {
  readonly key: Buffer;
  /** Empty when only keys were asked for. */
  readonly value: Buffer;
}

export interface ScanOptions {
  readonly reverse?: boolean;
  readonly keysOnly?: boolean;
}

/** What a collection is at: changes with every commit that touches it. */
export interface Stamp {
  /** Undefined before the first commit. */
  readonly version: number | undefined;
  readonly note: Buffer | undefined;
}

export interface Change {
  readonly space: SpaceName;
  readonly key: Buffer;
  /** Undefined removes the key. */
  readonly value: Buffer | undefined;
}

export interface Commit {
  /** Carried out in any case. */
  readonly unconditional: readonly Change[];
  /** Carried out only when every collection still has the version named here. */
  readonly conditions: ReadonlyMap<string, number | undefined>;
  readonly conditional: readonly Change[];
  readonly notes: ReadonlyMap<string, Buffer>;
  /** That room is given back because of it, though not by itself. */
  readonly makesRoom?: boolean;
}

/** A scan reads ahead this much, and holds nothing open while its reader works or waits. */
const PAGE_ENTRIES_FIRST = 16;
const PAGE_ENTRIES_MAX = 512;
const PAGE_BYTES_MAX = 256 * 1024;
const EMPTY = Buffer.alloc(0);
/** A commit that changes nothing: no key begins with that byte. */
const NOTHING: Commit = {
  unconditional: [{ space: 'rows', key: Buffer.of(0xff), value: undefined }],
  conditions: new Map(),
  conditional: [],
  notes: new Map(),
};

export class Environment {
  readonly #file: string;
  readonly #directory: string;
  readonly #root: RootDatabase<Buffer, string>;
  readonly #spaces: Readonly<Record<SpaceName, Space>>;
  readonly #stamps: Database<Buffer, string>;
  readonly #room: DiskRoom;
  /** V4. */
  #hasFailed = false;

  /** The folder above `directory` exists. @throws Fault storage_damaged, storage_full, storage_unwritable. */
  constructor(directory: string) {
    this.#directory = directory;
    this.#file = join(directory, STORE_FILE);
    try {
      if (!existsSync(directory)) mkdirSync(directory);
      assertStoreUsable(directory);
      this.#root = open<Buffer, string>({
        path: directory,
        noSubdir: false,
        mapSize: MAP_BYTES,
        maxReaders: READERS_MAX,
        maxDbs: DATABASES_MAX,
        encoding: 'binary',
        // V2. With batching by event turn the engine would begin a commit before it is written down.
        eventTurnBatching: false,
      });
      const keyed = { encoding: 'binary', keyEncoding: 'binary' } as const;
      this.#spaces = {
        rows: this.#root.openDB<Buffer, Buffer>({ name: 'rows', ...keyed }),
        journals: this.#root.openDB<Buffer, Buffer>({ name: 'journals', ...keyed }),
        log: this.#root.openDB<Buffer, Buffer>({ name: 'log', ...keyed }),
      };
      this.#stamps = this.#root.openDB<Buffer, string>({
        name: 'stamps',
        encoding: 'binary',
        useVersions: true,
      });
    } catch (error) {
      throw openingFault(error, directory);
    }
    this.#room = new DiskRoom(directory, () => this.#reusableBytes());
  }

  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** The bytes are lent until the next read. */
  read(space: SpaceName, key: Buffer): Buffer | undefined {
    return this.#spaces[space].getBinaryFast(key);
  }

  /** As `read`, for keeps. */
  copy(space: SpaceName, key: Buffer): Buffer | undefined {
    return this.#spaces[space].getBinary(key);
  }

  /** Of the state that `read` reads. */
  firstKey(space: SpaceName, { lower, upper }: ByteRange): Buffer | undefined {
    for (const key of this.#spaces[space].getKeys({ start: lower, end: upper, limit: 1 })) return key;
    return undefined;
  }

  stamp(collection: string): Stamp {
    const entry = this.#stamps.getEntry(collection);
    return { version: entry?.version, note: entry?.value };
  }

  /** Read in pages, so that no snapshot is pinned between them; `fresh` begins each with the latest commit. */
  *scan(
    space: SpaceName,
    range: ByteRange,
    options: ScanOptions & { readonly fresh: boolean },
  ): Iterable<Pair> {
    const { reverse = false } = options;
    let { lower, upper } = range;
    let afterFirst = false;
    for (let entriesMax = PAGE_ENTRIES_FIRST; ; entriesMax = Math.min(entriesMax * 2, PAGE_ENTRIES_MAX)) {
      if (options.fresh) this.refresh();
      const page = this.#page(space, { lower, upper }, options, afterFirst, entriesMax);
      yield* page.pairs;
      const last = page.pairs.at(-1);
      if (last === undefined || page.ended) return;
      if (reverse) upper = last.key;
      else lower = last.key;
      afterFirst = true;
    }
  }

  /** False when a condition did not hold. @throws Fault storage_full, storage_damaged. */
  async commit(commit: Commit): Promise<boolean> {
    this.#room.take([...commit.unconditional, ...commit.conditional], commit.makesRoom);
    const outcomes: Promise<boolean>[] = [];
    const whole = this.#root.batch(() => {
      for (const change of commit.unconditional) this.#apply(change);
      if (commit.conditions.size === 0) return;
      const conditions = [...commit.conditions];
      const nest = (depth: number): void => {
        const condition = conditions[depth];
        if (condition === undefined) {
          this.#applyConditional(commit);
          return;
        }
        const [collection, version] = condition;
        outcomes.push(
          version === undefined
            ? this.#stamps.ifNoExists(collection, () => nest(depth + 1))
            : this.#stamps.ifVersion(collection, version, () => nest(depth + 1)),
        );
      };
      nest(0);
    });
    try {
      const [, ...held] = await Promise.all([whole, ...outcomes]);
      this.#hasFailed = false;
      return held.every(Boolean);
    } catch (error) {
      this.#hasFailed = true;
      throw faultOfEngine(await causeOf(error), this.#directory);
    }
  }

  /** Resolves when all that was committed is on disk. While a commit is under way, it must not be called. @throws as `commit` */
  async flush(): Promise<void> {
    if (this.#hasFailed) await this.commit(NOTHING); // V4
    await this.#root.flushed;
  }

  /** How many keys a space has, and the bytes of its pages. */
  sizeOf(space: SpaceName): { readonly keys: number; readonly bytes: number } {
    const stats = this.#spaces[space].getStats() as TreeStats & SizeStats;
    const { entryCount, pageSize } = stats;
    return { keys: entryCount, bytes: pagesOf(stats) * pageSize };
  }

  bytesOnDisk(): number {
    return statSync(this.#file).size;
  }

  async close(): Promise<void> {
    try {
      if (this.#hasFailed) await this.commit(NOTHING); // V4
    } catch {
      return; // What is open ends with the process.
    }
    await this.#root.close();
  }

  /** Pages of the file that belong to none of the trees: those of the last commits too, which may still be read. */
  #reusableBytes(): number {
    const trees = [this.#root, ...Object.values(this.#spaces), this.#stamps];
    const all = trees.map((tree) => tree.getStats() as TreeStats & RootStats);
    const [{ free, lastPageNumber, pageSize }] = all as [TreeStats & RootStats];
    const used = [...all, free].reduce((sum, tree) => sum + pagesOf(tree), HEAD_PAGES);
    return (lastPageNumber + 1 - used) * pageSize;
  }

  #apply({ space, key, value }: Change): void {
    // The promises of changes inside a batch say nothing: the batch's own does.
    if (value === undefined) void this.#spaces[space].remove(key);
    else void this.#spaces[space].put(key, value);
  }

  #applyConditional({ conditional, conditions, notes }: Commit): void {
    for (const change of conditional) this.#apply(change);
    for (const [collection, note] of notes) {
      void this.#stamps.put(collection, note, (conditions.get(collection) ?? 0) + 1);
    }
  }

  #page(
    space: SpaceName,
    { lower, upper }: ByteRange,
    { reverse = false, keysOnly = false }: ScanOptions,
    afterFirst: boolean,
    entriesMax: number,
  ): { readonly pairs: readonly Pair[]; readonly ended: boolean } {
    const range = reverse
      ? { start: upper, exclusiveStart: true, end: lower, inclusiveEnd: true }
      : { start: lower, exclusiveStart: afterFirst, end: upper };
    const options = { ...range, reverse, limit: entriesMax };
    if (keysOnly) {
      const pairs = Array.from(this.#spaces[space].getKeys(options), (key) => ({ key, value: EMPTY }));
      return { pairs, ended: pairs.length < entriesMax };
    }
    const pairs: Pair[] = [];
    let bytes = 0;
    for (const { key, value } of this.#spaces[space].getRange(options)) {
      pairs.push({ key, value });
      bytes += value.length;
      if (bytes >= PAGE_BYTES_MAX) return { pairs, ended: false };
    }
    return { pairs, ended: pairs.length < entriesMax };
  }
}

/** As the engine tells it. */
interface SizeStats {
  readonly entryCount: number;
  readonly pageSize: number;
}

interface TreeStats {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface RootStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly free: TreeStats;
}

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: TreeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

function openingFault(error: unknown, directory: string): unknown {
  const fault = faultOfEngine(error, directory);
  // What cannot be opened, for whatever other reason, is of no use to us.
  return isFault(fault) ? fault : damaged(directory, error);
}

/** The engine hides the reason of a failed commit behind a promise on the error. */
async function causeOf(error: unknown): Promise<unknown> {
  const reason = (error as { readonly commitError?: Promise<never> }).commitError;
  return reason === undefined ? error : reason.catch((cause: unknown) => cause);
}
