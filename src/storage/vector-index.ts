// VectorIndex: the nearest of an engine's vectors. It follows what is stored, and settles it: vectors come into memory, and
// where there are many, into a graph. One thread owns an index.
// X1 A search follows first: it sees every change that was committed before. What is not settled yet is compared on disk.
// X2 To compare is exact, however it is done. The graph is not: it is asked where it was found to find enough, and sooner
//    (graph-recall.ts), until as much has changed as half of what it was judged with. A search through a filter always compares:
//    what passes is no fair sample of what the graph was judged with. No answer is ever short.
// X3 `work` settles for SLICE_MS at most, so that searches get their turn. Only reading and writing of the snapshot's file take
//    longer, and happen beside this thread; the graph does not change while it is written.
// X4 Settling never loses: what finds no room in memory stays on disk, and what finds none in the graph is compared.
// X5 When as many of the graph's vectors are removed as are left, it is given up and built anew, within the same room. One that
//    was judged to be not worth asking is given up, and the next is built when there are twice as many vectors.

import { systemClock } from '../std/clock.ts';
import type {
  PassageFilter,
  VectorHit,
  VectorIndex,
  VectorIndexOptions,
  VectorIndexStatistics,
} from './contract.ts';
import type { View } from './draft.ts';
import { GraphJudge, type Judgement, NEAREST } from './graph-recall.ts';
import { Graph, type Hnsw, loadHnsw } from './hnsw.ts';
import { type Near, Nearest, product } from './nearest.ts';
import { type Passing, VectorMembers } from './vector-members.ts';
import type { VectorRoom } from './vector-room.ts';
import { VectorScreen } from './vector-screen.ts';
import type { VectorSnapshot } from './vector-snapshot.ts';
import type { StoredVectors } from './vectors.ts';

const SLICE_MS = 8;
/** To compare fewer takes a millisecond at most, and a graph of them would take minutes and twice their room to save half of that. */
const GRAPH_VECTORS_MIN = 50_000;
/** With less than this share of them left a graph is not worth its memory. */
const GRAPH_LEFT_SHARE = 0.5;
const RECALL_TARGET = 0.95;
/** X5. */
const REJECTED_GROWTH = 2;
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
  readonly #members = new VectorMembers();
  readonly #judge: GraphJudge;
  #hnsw: Hnsw | undefined;
  #screen: VectorScreen | undefined;
  #graph: Graph | undefined;
  /** The number of the last change that it has seen. */
  #followed = 0;
  /** Settling goes on from this slot. */
  #cursor = 0;
  #changes = 0;
  #isFull = false;
  #isJudgementNew = false;
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
    this.#snapshotChangesMin = options.snapshotChangesMin ?? SNAPSHOT_CHANGES_MIN;
    const numbersOf = (near: readonly Near[]): readonly number[] => near.map(({ number }) => number);
    this.#judge = new GraphJudge({
      target: options.recallTarget ?? RECALL_TARGET,
      isTimeNoMatter: options.prefersGraph ?? false,
      compare: (question) => numbersOf(this.#compare(question, NEAREST, null, true).all),
      ask: (question, width) => numbersOf(this.#inGraph(question, NEAREST, width)),
      passages: (count) => this.#someInGraph(count),
    });
  }

  search({ vector, limit, ...filter }: Query): readonly VectorHit[] {
    this.#follow(); // X1
    this.#judge.note(vector);
    const passing = this.#members.passing(filter);
    const nearest = this.#askGraph(vector, limit, passing) ?? this.#compare(vector, limit, passing);
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
    const { count, inGraph, inMemory } = this.#members;
    return {
      vectors: count,
      inGraph,
      inMemory,
      onDisk: count - inMemory,
      removedInGraph: (this.#graph?.size ?? inGraph) - inGraph,
      isFull: this.#isFull,
      graphs: this.#hnsw === undefined ? 'unknown' : this.#hnsw.kind,
      judgement: this.#judge.judgement,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
    this.#graph?.close();
    this.#graph = undefined;
    this.#screen?.close();
    this.#screen = undefined;
  }

  // ---- Searching.

  /** X2. Null when it is not to be asked, or what it answers is short. */
  #askGraph(vector: Float32Array, limit: number, passing: Passing | null): Nearest | null {
    const { inGraph, count } = this.#members;
    const width = this.#judge.width(limit, this.#followed);
    if (this.#graph === undefined || passing !== null || width === null) return null;
    const found = this.#inGraph(vector, limit, width);
    if (found.length < Math.min(limit, inGraph)) return null;
    const nearest = inGraph === count ? new Nearest(limit) : this.#compare(vector, limit, null, false);
    for (const { number, similarity } of found) nearest.offer(number, similarity);
    return nearest;
  }

  #inGraph(vector: Float32Array, limit: number, width: number): readonly Near[] {
    // Of those that are removed and not marked yet it may find some.
    const asked = limit + (this.#unmarked?.length ?? 0);
    const found = this.#graph?.search(vector, asked, Math.max(width, asked)) ?? [];
    const known = found.filter(({ number }) => this.#members.slotOf(number) !== undefined);
    return known.slice(0, limit);
  }

  /** Roughly in memory, then exactly where it may matter. */
  #compare(vector: Float32Array, limit: number, passing: Passing | null, isInGraph?: boolean): Nearest {
    const members = this.#members;
    const nearest = new Nearest(limit);
    const sweep = this.#screen?.sweep(vector, limit);
    for (let slot = 0; slot < members.end; slot += 1) {
      if (members.isFree(slot) || (passing !== null && passing.slots[slot] !== 1)) continue;
      if (isInGraph !== undefined && members.isInGraph(slot) !== isInGraph) continue;
      if (sweep !== undefined && members.isInMemory(slot)) sweep.add(slot);
      else this.#compareExactly(vector, members.numberAt(slot), nearest);
    }
    for (const { slot, atMost } of sweep?.end() ?? []) {
      if (atMost < nearest.least) break;
      this.#compareExactly(vector, members.numberAt(slot), nearest);
    }
    return nearest;
  }

  #compareExactly(vector: Float32Array, number: number, nearest: Nearest): void {
    const point = this.#vectors.lentPoint(this.#view, number);
    if (point !== undefined) nearest.offer(number, product(vector, point));
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
    const wasInGraph = this.#members.isInGraph(slot);
    this.#members.remove(number);
    if (!wasInGraph) return;
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
    else if (this.#isJudgementNew) await this.#keepJudgement();
    return !isSettled && !this.#isClosed;
  }

  /** Takes over the graph of the snapshot, as far as its vectors are still there. */
  async #restore(): Promise<void> {
    const { dimensions } = this.#vectors.figures(this.#view);
    if (this.#hnsw?.kind !== 'available') return;
    const { graph: found, judgement } = await this.#snapshot.find();
    if (judgement?.width === null) this.#judge.restart(judgement); // X5
    if (found === null || this.#isClosed) return;
    // First the room of what every search needs.
    this.#screen ??= new VectorScreen(dimensions, this.#room);
    if (!this.#screen.reserve(this.#members.end)) return;
    // What the checksum lets through and the library does not is of another version of it.
    const graph = await Graph.read(this.#hnsw.library, dimensions, found, this.#room).catch(() => null);
    if (graph === null) return;
    this.#graph = graph;
    this.#judge.restart(judgement);
    for (const number of graph.numbers()) {
      const slot = this.#members.slotOf(number);
      if (slot === undefined) graph.remove(number);
      else this.#members.enterGraph(slot);
    }
  }

  /** A slice of X3. False when there is nothing left to settle, or no room to do it. */
  #settle(): boolean {
    const startedMs = systemClock.monotonicMs();
    this.#giveUpWorn();
    this.#isFull = false;
    while (systemClock.monotonicMs() - startedMs < SLICE_MS) {
      if (!this.#settleNext()) return false;
    }
    return true;
  }

  /** Memory first: to compare there is quick before there is a graph, and what is in the graph may have to be compared. */
  #settleNext(): boolean {
    const members = this.#members;
    if (members.inMemory < members.count) return !this.#isFull && this.#intoMemory();
    if (members.inGraph < members.count && this.#wantsGraph()) return !this.#isFull && this.#intoGraph();
    return this.#judgeGraph();
  }

  #intoMemory(): boolean {
    const members = this.#members;
    const slot = this.#nextSlot((one) => !members.isInMemory(one));
    const point = this.#vectors.lentPoint(this.#view, members.numberAt(slot));
    if (point === undefined) {
      // Removed meanwhile.
      this.#follow();
      return true;
    }
    this.#screen ??= new VectorScreen(point.length, this.#room);
    this.#isFull = !this.#screen.put(slot, point); // X4
    if (!this.#isFull) members.enterMemory(slot);
    return !this.#isFull;
  }

  #intoGraph(): boolean {
    const members = this.#members;
    const slot = this.#nextSlot((one) => !members.isInGraph(one));
    const number = members.numberAt(slot);
    const point = this.#vectors.point(this.#view, number);
    if (point === undefined) {
      this.#follow();
      return true;
    }
    this.#graph ??= this.#newGraph(point.length);
    this.#isFull = !this.#graph?.add(number, point); // X4
    if (this.#isFull) return false;
    members.enterGraph(slot);
    this.#changes += 1;
    return true;
  }

  #wantsGraph(): boolean {
    if (this.#hnsw?.kind !== 'available') return false;
    if (this.#graph !== undefined) return true;
    const { count } = this.#members;
    if (count < this.#graphVectorsMin) return false;
    const { judgement } = this.#judge;
    return judgement?.width !== null || count >= REJECTED_GROWTH * judgement.vectors;
  }

  #newGraph(dimensions: number): Graph | undefined {
    if (this.#hnsw?.kind !== 'available') return undefined;
    this.#judge.restart(null);
    return Graph.create(this.#hnsw.library, dimensions, this.#room) ?? undefined;
  }

  /** X5. */
  #giveUpWorn(): void {
    const { count, inGraph } = this.#members;
    if (this.#graph === undefined) return;
    const removed = this.#graph.size - inGraph;
    const isWorthIt = count >= this.#graphVectorsMin * GRAPH_LEFT_SHARE;
    if (removed <= inGraph && isWorthIt) return;
    this.#giveUpGraph(null);
  }

  #giveUpGraph(judgement: Judgement | null): void {
    this.#graph?.close();
    this.#graph = undefined;
    this.#judge.restart(judgement);
    this.#changes = 0;
    this.#members.leaveGraph();
  }

  /** There is one. */
  #nextSlot(isWanted: (slot: number) => boolean): number {
    const { end } = this.#members;
    for (;;) {
      if (this.#cursor >= end) this.#cursor = 0;
      if (!this.#members.isFree(this.#cursor) && isWanted(this.#cursor)) return this.#cursor;
      this.#cursor += 1;
    }
  }

  // ---- Judging.

  /** A step of it. False when there is nothing to judge. */
  #judgeGraph(): boolean {
    const { inGraph } = this.#members;
    if (this.#graph === undefined || inGraph === 0) return false;
    const { dimensions } = this.#vectors.figures(this.#view);
    const before = this.#judge.judgement;
    const hasStepped = this.#judge.step({ vectors: inGraph, lastNumber: this.#followed, dimensions });
    const { judgement } = this.#judge;
    if (judgement !== before) this.#isJudgementNew = true;
    if (judgement?.width === null) this.#giveUpGraph(judgement); // X5
    return hasStepped;
  }

  *#someInGraph(count: number): Iterable<{ readonly number: number; readonly point: Float32Array }> {
    const members = this.#members;
    const step = Math.max(1, Math.floor(members.end / count));
    for (let slot = 0; slot < members.end; slot += step) {
      const number = members.numberAt(slot);
      const point = members.isInGraph(slot) ? this.#vectors.point(this.#view, number) : undefined;
      if (point !== undefined) yield { number, point };
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
    this.#isJudgementNew = false;
    this.#unmarked = [];
    try {
      await this.#snapshot.keep(graph, this.#judge.judgement);
    } catch {
      // The disk is full, or not to be written: the last one is still there, and older than it could be.
    } finally {
      const unmarked = this.#unmarked;
      this.#unmarked = undefined;
      for (const number of unmarked) graph.remove(number);
    }
  }
  /** So that the next start can ask the graph at once, or need not build it again. */
  async #keepJudgement(): Promise<void> {
    const { judgement } = this.#judge;
    this.#isJudgementNew = false;
    if (judgement === null) return;
    try {
      await this.#snapshot.judge(judgement);
    } catch {
      // As above; it is judged again.
    }
  }
}
