// Hnsw: a graph in which near vectors are neighbours (Malkov and Yashunin, "Efficient and robust approximate nearest neighbor
// search using Hierarchical Navigable Small World graphs", 2018). The only file that knows hnswlib.
// H1 The package is compiled when it is installed, and optional: without it there are no graphs, and all is compared.
// H2 A vector that is removed is marked and passed over, but keeps its place: to put another one there costs fifty times an
//    insertion (the library mends all links to it). A graph that is full of marks is built anew instead.
// H3 The library takes vectors as arrays of numbers, one call at a time, and works on the calling thread; only files are read
//    and written beside it. While one is written nothing may be added or removed.
// H4 A graph that is full throws: it is made larger ahead.

import { assert } from '../std/assert.ts';
import { errorText } from '../std/errors.ts';
import type { Near } from './nearest.ts';
import type { VectorRoom } from './vector-room.ts';

/** Links of each vector, and how widely they are looked for (ADR 20, Given up). */
const LINKS = 16;
const CONSTRUCTION_WIDTH = 200;
const SEED = 100;
const CAPACITY_MIN = 4_096;
const GROWTH = 1.25;
/** Beside the vector itself: links of the bottom layer and above, its number, and the table of numbers. */
const BYTES_BESIDE = 4 * (2 * LINKS + 1) + 8 + 80;

/** A string to the compiler, whose check has to pass without the package too (H1). */
const PACKAGE: string = 'hnswlib-node';

/** What is used of the library. */
export interface Library {
  readonly HierarchicalNSW: new (space: 'ip', dimensions: number) => NativeGraph;
}

interface NativeGraph {
  initIndex(capacity: number, links: number, constructionWidth: number, seed: number): void;
  readIndex(file: string): Promise<boolean>;
  writeIndex(file: string): Promise<boolean>;
  resizeIndex(capacity: number): void;
  addPoint(vector: number[], number: number): void;
  markDelete(number: number): void;
  searchKnn(vector: number[], limit: number): { readonly distances: number[]; readonly neighbors: number[] };
  setEf(width: number): void;
  getIdsList(): number[];
  getMaxElements(): number;
  getCurrentCount(): number;
}

export type Hnsw =
  | { readonly kind: 'available'; readonly library: Library }
  | { readonly kind: 'missing'; readonly reason: string };

let loading: Promise<Hnsw> | undefined;

/** H1. Once a thread. */
export function loadHnsw(): Promise<Hnsw> {
  loading ??= import(PACKAGE).then(
    ({ default: library }: { readonly default: Library }) => ({ kind: 'available', library }),
    (error: unknown) => ({ kind: 'missing', reason: errorText(error).split('\n')[0] ?? '' }),
  );
  return loading;
}

export class Graph {
  readonly #native: NativeGraph;
  readonly #dimensions: number;
  readonly #room: VectorRoom;
  #capacity = 0;

  private constructor(native: NativeGraph, dimensions: number, room: VectorRoom) {
    this.#native = native;
    this.#dimensions = dimensions;
    this.#room = room;
  }

  /** Null when there is no room for it. */
  static create(library: Library, dimensions: number, room: VectorRoom): Graph | null {
    const graph = new Graph(new library.HierarchicalNSW('ip', dimensions), dimensions, room);
    if (!graph.#takeRoom(CAPACITY_MIN)) return null;
    graph.#native.initIndex(CAPACITY_MIN, LINKS, CONSTRUCTION_WIDTH, SEED);
    return graph;
  }

  /** From a file that was written with that capacity; null when there is no room. @throws when it is no such graph */
  static async read(
    library: Library,
    dimensions: number,
    { file, capacity }: { readonly file: string; readonly capacity: number },
    room: VectorRoom,
  ): Promise<Graph | null> {
    const graph = new Graph(new library.HierarchicalNSW('ip', dimensions), dimensions, room);
    if (!graph.#takeRoom(capacity)) return null;
    try {
      await graph.#native.readIndex(file);
      assert(graph.#native.getMaxElements() === capacity, 'a graph comes with the room it was written with');
      return graph;
    } catch (error) {
      graph.close();
      throw error;
    }
  }

  /** With those that are marked as removed. */
  get size(): number {
    return this.#native.getCurrentCount();
  }

  get capacity(): number {
    return this.#capacity;
  }

  get bytes(): number {
    return this.#bytesFor(this.#capacity);
  }

  numbers(): readonly number[] {
    return this.#native.getIdsList();
  }

  /** False when there is no room (H4). */
  add(number: number, vector: Float32Array): boolean {
    if (this.size >= this.#capacity && !this.#grow()) return false;
    this.#native.addPoint(Array.from(vector), number);
    return true;
  }

  /** H2. One that is not there, or is marked already, is no matter: a graph that was read may know either. */
  remove(number: number): void {
    try {
      this.#native.markDelete(number);
    } catch {
      // The library has no other way to ask.
    }
  }

  /** The wider the search, the fewer of the nearest it misses. */
  search(vector: Float32Array, limit: number, width: number): readonly Near[] {
    this.#native.setEf(Math.max(width, limit));
    const few = Math.min(limit, this.#capacity);
    const { neighbors, distances } = this.#native.searchKnn(Array.from(vector), few);
    return neighbors.map((number, i) => ({ number, similarity: 1 - (distances[i] as number) }));
  }

  /** H3. */
  async write(file: string): Promise<void> {
    await this.#native.writeIndex(file);
  }

  /** Its memory goes with the next collection of garbage. */
  close(): void {
    this.#room.give(this.#bytesFor(this.#capacity));
    this.#capacity = 0;
  }

  #grow(): boolean {
    const capacity = Math.ceil(this.#capacity * GROWTH);
    if (!this.#takeRoom(capacity)) return false;
    this.#native.resizeIndex(capacity);
    return true;
  }

  #takeRoom(capacity: number): boolean {
    if (!this.#room.take(this.#bytesFor(capacity - this.#capacity))) return false;
    this.#capacity = capacity;
    return true;
  }

  #bytesFor(vectors: number): number {
    return vectors * (this.#dimensions * Float32Array.BYTES_PER_ELEMENT + BYTES_BESIDE);
  }
}
