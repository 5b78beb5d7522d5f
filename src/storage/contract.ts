// Storage: what the rest of Troupe may ask of it. One LMDB environment, opened by every thread that needs it.
// S1 Reads are synchronous and see every committed write of every thread.
// S2 Writes go through `write`, all or nothing; the callback sees its own writes and must not await. It may be called
//    again when another thread changed what it read: it has no effect but its result and what it does with `tx`.
// S3 Two durability classes: `committed` survives a crash of the process (kill -9), `flushed` survives a loss of power.
// S4 Values are plain data (msgpack). Keys are strings, finite numbers, booleans, or arrays of these, and sort in that
//    order; an array of one part is the same key as that part. Bounds may also be infinite.

import type { Judgement } from './graph-recall.ts';
import type { VectorRoom } from './vector-room.ts';

export type Durability = 'committed' | 'flushed';

export type KeyPart = string | number | boolean;
export type Key = KeyPart | readonly KeyPart[];

export interface RangeOptions {
  /** Inclusive start (of the scan's own direction); takes in all keys that begin with it. */
  readonly start?: Key;
  /** Exclusive end. */
  readonly end?: Key;
  /** Only keys that begin with it. */
  readonly prefix?: Key;
  readonly reverse?: boolean;
  readonly limit?: number;
  readonly offset?: number;
}

export interface Entry<Value> {
  readonly key: Key;
  readonly value: Value;
}

/** Names of a table's secondary indexes, each with the key it files a value under; null leaves the value out. */
export type IndexDeclarations<Value> = Readonly<Record<string, (value: Value, key: Key) => Key | null>>;

export interface TableDeclaration<Value, Indexes extends IndexDeclarations<Value>> {
  readonly name: string;
  readonly indexes?: Indexes;
}

export interface Table<Value, IndexName extends string = never> {
  readonly name: string;
  get(key: Key): Value | undefined;
  has(key: Key): boolean;
  range(options?: RangeOptions): Iterable<Entry<Value>>;
  /** Entries in the order of the index; `key` is the primary key. A prefix of an index key is a valid bound. */
  by(index: IndexName, options?: RangeOptions): Iterable<Entry<Value>>;
  count(): number;
}

/** The same tables inside a write: reads see the transaction's own writes. */
export interface Transaction {
  get<Value>(table: Table<Value, string>, key: Key): Value | undefined;
  put<Value>(table: Table<Value, string>, key: Key, value: Value): void;
  /** True when there was something to remove. */
  remove(table: Table<unknown, string>, key: Key): boolean;
  range<Value>(table: Table<Value, string>, options?: RangeOptions): Iterable<Entry<Value>>;
  by<Value, IndexName extends string>(
    table: Table<Value, IndexName>,
    index: IndexName,
    options?: RangeOptions,
  ): Iterable<Entry<Value>>;
  /** Files or refiles a text under a document id (see FullText). */
  indexText(index: FullText, document: TextDocument): void;
  removeText(index: FullText, id: string): void;
  /**
   * Files or refiles a passage (see Passages). Without an embedding, the vectors it has stay if its text is the same, and are
   * removed if it is not. @throws Fault storage_vector_invalid when the engine's vectors have another length, or
   * a member is not finite.
   */
  putPassage(passages: Passages, passage: Passage): void;
  /** Adds the vector of a passage whose text is still this one; false when it is not, and nothing is changed. */
  embedPassage(passages: Passages, id: string, text: string, embedding: Embedding): boolean;
  /** True when there was something to remove. */
  removePassage(passages: Passages, id: string): boolean;
  /** Ids in order, of all, of one owner, or that begin with a text. */
  passageIds(passages: Passages, selection?: PassageSelection): Iterable<string>;
}

// ---- Journals: append-only, one writer each, read by cursor.

export interface JournalEntry<Value> {
  /** From 1, without a gap. */
  readonly seq: number;
  readonly value: Value;
}

/** Entries for one journal: the first of them gets the number `firstSeq`. */
export interface JournalAppend<Value> {
  readonly journal: string;
  readonly firstSeq: number;
  readonly values: readonly Value[];
}

export interface Journals<Value> {
  /**
   * Appends in one commit; entry n gets sequence number `firstSeq + n`. The writer counts: it knows the last number it
   * gave, from its own memory or from `lastSeq`. Resolves when the class is reached; calls of one writer take effect in
   * order, and many writers share a commit. When one fails, those called behind it in the meantime fail too: the writer
   * goes on from `lastSeq`.
   */
  append(journal: string, firstSeq: number, values: readonly Value[], durability?: Durability): Promise<void>;
  /** The same for several journals in one commit: for a thread that writes for many. */
  appendAll(appends: readonly JournalAppend<Value>[], durability?: Durability): Promise<void>;
  /** Entries with a number above `afterSeq`, oldest first, at most `entriesMax` and about `bytesMax` (always at least one). */
  read(
    journal: string,
    afterSeq: number,
    limits?: { readonly entriesMax?: number; readonly bytesMax?: number },
  ): readonly JournalEntry<Value>[];
  /** 0 for an unknown or expired journal. */
  lastSeq(journal: string): number;
  /**
   * Nothing is appended for now: it may be laid out for reading. Changes nothing that can be read; a journal may go on, and is
   * sealed again. Resolves when it is noted.
   */
  seal(journal: string): Promise<void>;
  /** Forgets a journal, in bounded commits. It may begin again, from 1, when that has resolved. */
  expire(journal: string): Promise<void>;
  /** Ids of all journals that have entries. */
  ids(): Iterable<string>;
}

// ---- Full text: BM25 over an inverted index, kept up with every write.

export interface TextDocument {
  readonly id: string;
  readonly text: string;
  /** Exact-match labels, for filters: `{ conversation: 'c1', role: 'user' }`; a label may carry several values. */
  readonly labels?: Readonly<Record<string, string | readonly string[]>>;
}

export interface TextHit {
  readonly id: string;
  readonly score: number;
}

export interface TextQuery {
  readonly text: string;
  readonly limit: number;
  /** A hit carries one of the values for each named label. */
  readonly where?: Readonly<Record<string, readonly string[]>>;
}

export interface FullText {
  readonly name: string;
  search(query: TextQuery): readonly TextHit[];
  documentCount(): number;
}

// ---- Passages: texts that are found by their words (BM25) and by their meaning (vectors), filed in the write of their row.

/** What one engine made of a text. Of length one; vectors of another engine say nothing beside it. */
export interface Embedding {
  /** Names the engine and its version: two vectors can be compared when it is the same. */
  readonly engine: string;
  readonly vector: Float32Array;
}

export interface PassageText {
  readonly id: string;
  /** Whose it is, and what else it is filed under: for filters. */
  readonly owner: string;
  readonly tags: readonly string[];
  readonly text: string;
}

export interface Passage extends Omit<PassageText, 'tags'> {
  readonly tags?: readonly string[];
  readonly embedding?: Embedding;
}

export interface PassageSelection {
  readonly owner?: string;
  /** How the id begins. */
  readonly prefix?: string;
  readonly after?: string;
  readonly limit?: number;
}

/** One of the owners, and one of the tags, where they are given. */
export interface PassageFilter {
  readonly owners?: readonly string[];
  readonly tags?: readonly string[];
}

/** The vectors that one engine has made for a collection of passages. */
export interface EngineVectors {
  readonly engine: string;
  readonly dimensions: number;
  readonly count: number;
}

export interface Passages {
  readonly name: string;
  get(id: string): PassageText | undefined;
  ids(selection?: PassageSelection): Iterable<string>;
  count(): number;
  /** Has it a vector of that engine? */
  isEmbedded(id: string, engine: string): boolean;
  engines(): readonly EngineVectors[];
  searchWords(query: { readonly text: string; readonly limit: number } & PassageFilter): readonly TextHit[];
  /** Removes an engine's vectors in bounded commits. Nobody may add any meanwhile. */
  dropVectors(engine: string): Promise<void>;
  /** A new index over the vectors of one engine; whoever opened it closes it. One at a time for each engine. */
  openIndex(engine: string, options: VectorIndexOptions): VectorIndex;
}

export interface VectorIndexOptions {
  /** One for all indexes of a thread. */
  readonly room: VectorRoom;
  /** From so many vectors on a graph is built; fewer are compared as quickly. */
  readonly graphVectorsMin?: number;
  /** A graph that finds less than this share of the nearest is not asked. */
  readonly recallTarget?: number;
  /** Asks the graph where to compare would be quicker too; so a test sees what it answers. */
  readonly prefersGraph?: boolean;
  /** A snapshot is worth so many changes of the graph at least. */
  readonly snapshotChangesMin?: number;
}

export interface VectorHit {
  readonly id: string;
  /** The cosine of the angle between them, from -1 to 1. */
  readonly similarity: number;
}

/** Finds the nearest vectors. Belongs to one thread. */
export interface VectorIndex {
  /** Sees every vector that was committed before. */
  search(
    query: { readonly vector: Float32Array; readonly limit: number } & PassageFilter,
  ): readonly VectorHit[];
  /** Makes searches quicker: takes the thread for some milliseconds, and says whether there is more to do. */
  work(): Promise<boolean>;
  statistics(): VectorIndexStatistics;
  /** Waits for work that is under way. */
  close(): Promise<void>;
}

export interface VectorIndexStatistics {
  readonly vectors: number;
  readonly inGraph: number;
  /** A byte for each member; the others are compared on disk. */
  readonly inMemory: number;
  readonly onDisk: number;
  /** They still take room. */
  readonly removedInGraph: number;
  /** There is no room for all of them in memory. */
  readonly isFull: boolean;
  /** Whether graphs can be built here: their library is compiled at install. `unknown` before the first work. */
  readonly graphs: 'unknown' | 'available' | 'missing';
  /** How well the graph was found to answer, and how widely it is asked; null before. Without a width all is compared. */
  readonly judgement: Judgement | null;
}

// ---- Blobs: bytes too many for a table, in files named by their SHA-256 (ADR 21). The primary thread writes, all may read.
// B1 A blob is there as long as somebody refers to it, and whole: it gets its name when its bytes are on disk.
// B2 References are counted in the transaction that files the reference. After the last one the file is a leftover.
// B3 What a crash leaves, a file that was being written or one without a reference, goes with the next `sweep`.

export interface Blobs {
  /** Begins a blob. It is nothing to anybody before it is placed. @throws Fault storage_full, storage_unwritable. */
  draft(): Promise<BlobDraft>;
  /** One more reference. `blob` is still held, or has a reference already. */
  retain(tx: Transaction, blob: { readonly sha256: string; readonly sizeBytes: number }): void;
  /** One reference less. */
  release(tx: Transaction, sha256: string): void;
  /** @throws Fault blob_missing */
  open(sha256: string): Promise<OpenBlob>;
  /** Where its bytes lie, for whoever reads files itself. */
  pathOf(sha256: string): string;
  /** B3. Deletes what nobody refers to, holds or writes. May be called at any time. @throws Fault storage_full */
  sweep(): Promise<void>;
}

export interface BlobDraft {
  readonly sizeBytes: number;
  /** One piece after the other. @throws Fault storage_full */
  write(bytes: Uint8Array): Promise<void>;
  /** Gives it its name when it is on disk. What is placed is held: no sweep takes it before it is let go. */
  place(): Promise<PlacedBlob>;
  /** Deletes it, unless it was placed. May be called at any time, and more than once. */
  discard(): Promise<void>;
}

export interface PlacedBlob {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** To be called when it is retained, or will not be. */
  letGo(): void;
}

export interface OpenBlob {
  readonly sizeBytes: number;
  /** The bytes from `first` to `last`, both inclusive, in pieces; also when the blob was deleted since it was opened. */
  read(first?: number, last?: number): AsyncIterableIterator<Uint8Array>;
  close(): Promise<void>;
}

export interface StorageStatistics {
  readonly bytesOnDisk: number;
  /** Pages of the journals' log that are not laid out for reading yet. */
  readonly journalPages: number;
}

export interface Storage {
  table<Value, Indexes extends IndexDeclarations<Value> = Record<never, never>>(
    declaration: TableDeclaration<Value, Indexes>,
  ): Table<Value, keyof Indexes & string>;
  journals<Value>(name: string): Journals<Value>;
  fullText(name: string): FullText;
  passages(name: string): Passages;
  /** The names of those in which something was ever filed. */
  passageCollections(): readonly string[];
  readonly blobs: Blobs;
  /** @throws Fault storage_full (retryable) when the disk is full. */
  write<Result>(durability: Durability, change: (tx: Transaction) => Result): Promise<Result>;
  /** Resolves when everything that was committed so far is flushed. */
  flushed(): Promise<void>;
  statistics(): StorageStatistics;
  /** Waits for pending commits, then closes this thread's handles. */
  close(): Promise<void>;
}

export interface StorageOptions {
  readonly directory: string;
  /** True on the one thread that creates the environment, takes the process lock and migrates; workers join it. */
  readonly primary: boolean;
}
