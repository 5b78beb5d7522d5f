// VectorIndex: the nearest of an engine's vectors. It follows what is stored, and settles it: vectors come into memory, and
// where there are many, into a graph. One thread owns an index.
// X1 A search follows first: it sees every change that was committed before. What is not settled yet is compared one by one.
// X2 The graph is asked when that is the cheaper way. Where it answers fewer than there are, and where a filter lets few
//    through, all that pass are compared: an answer is never short, however narrow the filter.
// X3 `work` settles for SLICE_MS at most, so that searches get their turn. Only reading and writing of the snapshot's file take
//    longer, and happen beside this thread; the graph does not change while it is written.
// X4 Settling never loses: what finds no room in the graph stays in memory, and what finds none there stays on disk.
// X5 When as many of the graph's vectors are removed as are left, it is given up and built anew, within the same room.

import { systemClock } from '../std/clock.ts';
import type {
  PassageFilter,
  VectorHit,
  VectorIndex,
  VectorIndexOptions,
  VectorIndexStatistics,
} from './contract.ts';
import type { View } from './draft.ts';
import { Graph, type Hnsw, loadHnsw } from './hnsw.ts';
import { type Near, Nearest, product } from './nearest.ts';
import { ResidentVectors } from './resident-vectors.ts';
import { FREE, IN_GRAPH, ON_DISK, type Passing, VectorMembers } from './vector-members.ts';
import type { VectorRoom } from './vector-room.ts';
import type { VectorSnapshot } from './vector-snapshot.ts';
import type { StoredVectors } from './vectors.ts';

const SLICE_MS = 8;
/** Fewer are compared as quickly as a graph is asked. */
const GRAPH_VECTORS_MIN = 2_000;
/** With less than this share of them left a graph is not worth its memory. */
const GRAPH_LEFT_SHARE = 0.5;
/** How many a search of the graph keeps in sight; the more, the fewer of the nearest it misses. */
const SEARCH_WIDTH_MIN = 200;
const SEARCH_WIDTH_PER_HIT = 2;
/**
 * What it costs to compare a vector on disk; and to ask the graph, for each vector that it keeps in sight: the fewer the filter lets
 * through, the more it has to pass over until it has seen as many. Measured with 384 dimensions (`npm run bench -- vectors`).
 */
const COST_ON_DISK_US = 1.5;
const COST_IN_GRAPH_US = 3.5;
/** Changes of the graph that are worth a snapshot: a share of it, and while it is built a larger one. */
const SNAPSHOT_CHANGES_MIN = 500;
const SNAPSHOT_SHARE = 0.05;
const SNAPSHOT_SHARE_BUILDING = 0.5;

export interface IndexParts {
  readonly vectors: StoredVectors;
  readonly committed: View;
  readonly snapshot: VectorSnapshot;
  readonly options: VectorIndexOptions;
}

type Query = { readonly vector: Float32Array; readonly limit: number } & PassageFilter;

export class FollowingIndex implements VectorIndex {
  readonly #vectors: StoredVectors;
  readonly #view: View;
  readonly #snapshot: VectorSnapshot;
  readonly #room: VectorRoom;
  readonly #graphVectorsMin: number;
  readonly #snapshotChangesMin: number;
  readonly #prefersGraph: boolean;
  readonly #members = new VectorMembers();
  #hnsw: Hnsw | undefined;
  #resident: ResidentVectors | undefined;
  #graph: Graph | undefined;
  /** The number of the last change that it has seen. */
  #followed = 0;
  /** Settling goes on from this slot. */
  #cursor = 0;
  #changes = 0;
  #isFull = false;
  #isOpened = false;
  /** Removed from the members, and to be marked when the graph is written (X3). */
  #unmarked: number[] | undefined;
  #working: Promise<boolean> | undefined;
  #isClosed = false;

  constructor({ vectors, committed, snapshot, options }: IndexParts) {
    this.#vectors = vectors;
    this.#view = committed;
    this.#snapshot = snapshot;
    this.#room = options.room;
    this.#graphVectorsMin = options.graphVectorsMin ?? GRAPH_VECTORS_MIN;
    this.#prefersGraph = options.prefersGraph ?? false;
    this.#snapshotChangesMin = options.snapshotChangesMin ?? SNAPSHOT_CHANGES_MIN;
  }

  search({ vector, limit, ...filter }: Query): readonly VectorHit[] {
    this.#follow(); // X1
    const passing = this.#members.passing(filter);
    const nearest = new Nearest(limit);
    const asked = this.#askGraph(vector, limit, passing);
    for (const { number, similarity } of asked ?? []) nearest.offer(number, similarity);
    this.#compare(vector, passing, asked !== null, nearest);
    return nearest.all.flatMap(({ number, similarity }) => {
      const labels = this.#vectors.labelsOf(this.#view, number);
      return labels === undefined ? [] : [{ id: labels.id, similarity }];
    });
  }

  work(): Promise<boolean> {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  statistics(): VectorIndexStatistics {
    const { count, inGraph, onDisk } = this.#members;
    return {
      vectors: count,
      inGraph,
      inMemory: count - inGraph - onDisk,
      onDisk,
      removedInGraph: (this.#graph?.size ?? inGraph) - inGraph,
      isFull: this.#isFull,
      graphs: this.#hnsw === undefined ? 'unknown' : this.#hnsw.kind,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
    this.#graph?.close();
    this.#graph = undefined;
    this.#resident?.clear();
  }

  // ---- Searching.

  /** X2. Null when it is not worth asking, or what it answers is short. */
  #askGraph(vector: Float32Array, limit: number, passing: Passing | null): readonly Near[] | null {
    const graph = this.#graph;
    const candidates = passing?.inGraph ?? this.#members.inGraph;
    if (graph === undefined || candidates === 0) return null;
    const width = Math.max(SEARCH_WIDTH_MIN, SEARCH_WIDTH_PER_HIT * limit);
    const passedOver = (width * graph.size) / candidates;
    const isDear = candidates * COST_ON_DISK_US < passedOver * COST_IN_GRAPH_US;
    if (isDear && !this.#prefersGraph) return null;
    const found = graph.search(vector, limit, width, this.#condition(passing));
    return found.length < Math.min(limit, candidates) ? null : found;
  }

  #condition(passing: Passing | null): ((number: number) => boolean) | undefined {
    const members = this.#members;
    // A graph that has all marks needs no condition, and is quicker without.
    if (passing === null && this.#unmarked === undefined) return undefined;
    return (number) => {
      const slot = members.slotOf(number);
      return slot !== undefined && (passing === null || passing.slots[slot] === 1);
    };
  }

  #compare(vector: Float32Array, passing: Passing | null, graphWasAsked: boolean, nearest: Nearest): void {
    const members = this.#members;
    if (graphWasAsked && members.inGraph === members.count) return;
    for (let slot = 0; slot < members.end; slot += 1) {
      if (passing !== null && passing.slots[slot] !== 1) continue;
      const place = members.placeAt(slot);
      if (place === FREE || (place === IN_GRAPH && graphWasAsked)) continue;
      const number = members.numberAt(slot);
      if (place >= 0) nearest.offer(number, (this.#resident as ResidentVectors).similarity(vector, place));
      else {
        const point = this.#vectors.lentPoint(this.#view, number);
        if (point !== undefined) nearest.offer(number, product(vector, point));
      }
    }
  }

  // ---- Following.

  #follow(): void {
    const { lastNumber } = this.#vectors.figures(this.#view);
    if (lastNumber === this.#followed) return;
    const removed = this.#vectors.removedAfter(this.#view, this.#followed);
    if (removed === null) this.#forgetAllBut(this.#vectors.numbersIn(this.#view));
    else for (const number of removed) this.#forget(number);
    for (const labels of this.#vectors.labelsAfter(this.#view, removed === null ? 0 : this.#followed)) {
      this.#members.add(labels);
    }
    this.#followed = lastNumber;
  }

  #forgetAllBut(numbers: ReadonlySet<number>): void {
    for (const number of [...this.#members.numbers()]) if (!numbers.has(number)) this.#forget(number);
  }

  #forget(number: number): void {
    const slot = this.#members.slotOf(number);
    if (slot === undefined) return;
    const place = this.#members.placeAt(slot);
    this.#members.remove(number);
    if (place >= 0) this.#resident?.remove(place);
    if (place !== IN_GRAPH) return;
    this.#changes += 1;
    if (this.#unmarked === undefined) this.#graph?.remove(number);
    else this.#unmarked.push(number);
  }

  // ---- Settling.

  async #work(): Promise<boolean> {
    if (this.#isClosed) return false;
    this.#follow();
    if (!this.#isOpened) {
      this.#hnsw = await loadHnsw();
      if (this.#members.count > 0) await this.#restore();
      this.#isOpened = true;
      return true;
    }
    const isSettled = !this.#settle();
    if (this.#isSnapshotDue(isSettled)) await this.#takeSnapshot();
    return !isSettled && !this.#isClosed;
  }

  /** Takes over the graph of the snapshot, as far as its vectors are still there. */
  async #restore(): Promise<void> {
    const { dimensions } = this.#vectors.figures(this.#view);
    if (this.#hnsw?.kind !== 'available') return;
    const found = await this.#snapshot.find();
    if (found === null || this.#isClosed) return;
    // What the checksum lets through and the library does not is of another version of it.
    const graph = await Graph.read(this.#hnsw.library, dimensions, found, this.#room).catch(() => null);
    if (graph === null) return;
    this.#graph = graph;
    for (const number of graph.numbers()) {
      const slot = this.#members.slotOf(number);
      if (slot === undefined) graph.remove(number);
      else this.#members.place(slot, IN_GRAPH);
    }
  }

  /** A slice of X3. False when there is nothing left to settle, or no room to do it. */
  #settle(): boolean {
    const startedMs = systemClock.monotonicMs();
    this.#giveUpGraph();
    this.#isFull = false;
    while (systemClock.monotonicMs() - startedMs < SLICE_MS) {
      if (!this.#settleNext()) return false;
    }
    return true;
  }

  /** Memory first: there a search finds them sooner than the graph is built. */
  #settleNext(): boolean {
    const members = this.#members;
    if (members.onDisk > 0 && !this.#isFull) {
      const slot = this.#nextSlot((place) => place === ON_DISK);
      const point = this.#vectors.point(this.#view, members.numberAt(slot));
      if (point === undefined) {
        // Removed meanwhile.
        this.#follow();
        return true;
      }
      this.#resident ??= new ResidentVectors(point.length, this.#room);
      const place = this.#resident.add(point);
      if (place === null) this.#isFull = true;
      else members.place(slot, place);
      return true;
    }
    if (members.inGraph === members.count || !this.#wantsGraph()) return false;
    return this.#intoGraph(this.#nextSlot((place) => place !== FREE && place !== IN_GRAPH));
  }

  #intoGraph(slot: number): boolean {
    const members = this.#members;
    const number = members.numberAt(slot);
    const place = members.placeAt(slot);
    const point = place >= 0 ? this.#resident?.at(place) : this.#vectors.point(this.#view, number);
    if (point === undefined) {
      this.#follow();
      return true;
    }
    this.#graph ??= this.#newGraph(point.length);
    if (!this.#graph?.add(number, point)) {
      this.#isFull = true; // X4
      return false;
    }
    members.place(slot, IN_GRAPH);
    if (place >= 0) this.#resident?.remove(place);
    this.#changes += 1;
    return true;
  }

  #wantsGraph(): boolean {
    if (this.#hnsw?.kind !== 'available') return false;
    return this.#graph !== undefined || this.#members.count >= this.#graphVectorsMin;
  }

  #newGraph(dimensions: number): Graph | undefined {
    if (this.#hnsw?.kind !== 'available') return undefined;
    return Graph.create(this.#hnsw.library, dimensions, this.#room) ?? undefined;
  }

  /** X5. */
  #giveUpGraph(): void {
    const { count, inGraph } = this.#members;
    if (this.#graph === undefined) return;
    const removed = this.#graph.size - inGraph;
    const isWorthIt = count >= this.#graphVectorsMin * GRAPH_LEFT_SHARE;
    if (removed <= inGraph && isWorthIt) return;
    this.#graph.close();
    this.#graph = undefined;
    this.#changes = 0;
    for (let slot = 0; slot < this.#members.end; slot += 1) {
      if (this.#members.placeAt(slot) === IN_GRAPH) this.#members.place(slot, ON_DISK);
    }
  }

  /** There is one. */
  #nextSlot(isWanted: (place: number) => boolean): number {
    const { end } = this.#members;
    for (;;) {
      if (this.#cursor >= end) this.#cursor = 0;
      if (isWanted(this.#members.placeAt(this.#cursor))) return this.#cursor;
      this.#cursor += 1;
    }
  }

  // ---- Keeping.

  #isSnapshotDue(isSettled: boolean): boolean {
    if (this.#graph === undefined || this.#isClosed) return false;
    const share = isSettled ? SNAPSHOT_SHARE : SNAPSHOT_SHARE_BUILDING;
    return this.#changes >= Math.max(this.#snapshotChangesMin, share * this.#graph.size);
  }

  async #takeSnapshot(): Promise<void> {
    const graph = this.#graph as Graph;
    // Whatever comes of it: the next one is due after as many changes.
    this.#changes = 0;
    this.#unmarked = [];
    try {
      await this.#snapshot.keep(graph);
    } catch {
      // The disk is full, or not to be written: the last one is still there, and older than it could be.
    } finally {
      const unmarked = this.#unmarked;
      this.#unmarked = undefined;
      for (const number of unmarked) graph.remove(number);
    }
  }
}
