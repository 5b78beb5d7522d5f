// Storage: opens the contract for one thread. The primary thread comes first, workers join, the primary leaves last.
// O1 The primary alone locks the folder and migrates. When it cannot start, it leaves nothing open and nothing locked.
// O2 Nothing that was accepted is lost by closing.
// O3 The primary alone compacts the journals, and reads their log before it is open: what is damaged there is found at the start.

import { StoredBlobs } from './blobs.ts';
import { CommitQueue } from './commit-queue.ts';
import type {
  Durability,
  FullText,
  IndexDeclarations,
  Journals,
  Passages,
  Storage,
  StorageOptions,
  StorageStatistics,
  Table,
  TableDeclaration,
  Transaction,
} from './contract.ts';
import { assertVersion, claimDataFolder, storeIn, writeVersion } from './data-folder.ts';
import type { DataFolderLock } from './data-folder-lock.ts';
import { committedView, type View } from './draft.ts';
import { Environment } from './environment.ts';
import { StoredFullText } from './full-text.ts';
import { StoredJournals } from './journal.ts';
import { JournalCompaction } from './journal-compaction.ts';
import { JournalIndex } from './journal-index.ts';
import { latestVersionOf, MIGRATIONS, type Migration, migrate, storedVersion } from './migrations.ts';
import { passageCollections, StoredPassages } from './passages.ts';
import { StoredTable } from './table.ts';
import { decideIn } from './transaction.ts';

/** @throws Fault storage_locked, storage_unwritable, storage_newer_version, storage_full, storage_damaged. */
export function openStorage(options: StorageOptions): Promise<Storage> {
  return openMigrated(options, MIGRATIONS);
}

/** `openStorage` with the migrations by hand. */
export async function openMigrated(
  { directory, primary }: StorageOptions,
  migrations: readonly Migration[],
): Promise<Storage> {
  if (!primary) return new OpenStorage(new Environment(storeIn(directory)), directory);

  const latestVersion = latestVersionOf(migrations);
  const lock = claimDataFolder(directory, latestVersion);
  let storage: OpenStorage;
  try {
    storage = new OpenStorage(new Environment(storeIn(directory)), directory, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
  try {
    assertVersion(storedVersion(storage), latestVersion, directory);
    await migrate(storage, migrations);
    storage.beginCompaction(); // O3
    writeVersion(directory, latestVersion);
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}

class OpenStorage implements Storage {
  readonly blobs: StoredBlobs;
  readonly #directory: string;
  readonly #environment: Environment;
  readonly #queue: CommitQueue;
  readonly #lock: DataFolderLock | undefined;
  readonly #committed: View;
  readonly #journalIndex: JournalIndex;
  #compaction: JournalCompaction | undefined;
  #closing: Promise<void> | undefined;

  constructor(environment: Environment, directory: string, lock?: DataFolderLock) {
    this.#directory = directory;
    this.#environment = environment;
    this.#queue = new CommitQueue(environment);
    this.#lock = lock;
    this.#committed = committedView(environment);
    this.#journalIndex = new JournalIndex(environment);
    this.blobs = new StoredBlobs(directory, this, lock !== undefined);
  }

  /** @throws Fault storage_damaged. */
  beginCompaction(): void {
    this.#journalIndex.catchUp();
    this.#compaction = new JournalCompaction(this.#environment, this.#journalIndex, this.#queue);
    this.#compaction.start();
  }

  table<Value, Indexes extends IndexDeclarations<Value> = Record<never, never>>(
    declaration: TableDeclaration<Value, Indexes>,
  ): Table<Value, keyof Indexes & string> {
    return new StoredTable<Value, keyof Indexes & string>(declaration, this.#committed);
  }

  journals<Value>(name: string): Journals<Value> {
    return new StoredJournals<Value>(name, this.#queue, this.#journalIndex, this.#environment);
  }

  fullText(name: string): FullText {
    return new StoredFullText(name, this.#committed);
  }

  passages(name: string): Passages {
    return new StoredPassages(name, this.#directory, this.#committed, this.#queue);
  }

  passageCollections(): readonly string[] {
    return passageCollections(this.#committed);
  }

  write<Result>(durability: Durability, change: (tx: Transaction) => Result): Promise<Result> {
    return this.#queue.write(durability, (draft) => decideIn(draft, change));
  }

  async flushed(): Promise<void> {
    await this.#queue.idle();
    await this.#queue.write('flushed', () => undefined);
  }

  statistics(): StorageStatistics {
    const { keys } = this.#environment.sizeOf('log');
    const journalPages = Math.max(0, keys - 1); // Without the head.
    return { bytesOnDisk: this.#environment.bytesOnDisk(), journalPages };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#compaction?.stop();
    await this.blobs.close();
    await this.#queue.close(); // O2
    await this.#environment.close();
    this.#lock?.release();
  }
}
