// Vectors: what an index of 100,000 vectors finds, how quickly, and what it takes. `npm run bench -- vectors [--quick] [--only KIND]`
//
// On a storage of its own, in this process, without actors: a search takes the thread of the indexes for what is measured here.
// Each kind of vectors is compared first, then a graph is asked as it is, then the index as it is used, which chooses between them.

import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { PassageFilter, Storage, VectorIndex, VectorIndexOptions } from '../src/storage/contract.ts';
import { product } from '../src/storage/nearest.ts';
import { openStorage } from '../src/storage/storage.ts';
import { VectorRoom } from '../src/storage/vector-room.ts';
import { type BenchReport, type Figure, figure, quantile } from './report.ts';
import { type Collection, DIMENSIONS, type Kind, madeCollection } from './vectors/collection.ts';

const KINDS = ['clustered', 'uniform', 'texts'] as const;
const ENGINE = 'bench';
const NEAREST = 10;
const PER_COMMIT = 500;
const ROOM_BYTES = 1024 ** 3;
const RECALL_TARGET = 0.95;
const START_TARGET_MS = 2_000;
const STARTS = 5;
/** Vectors of these owners: one in so many. The others have none of them. */
const OWNERS = [2, 10, 100, 1_000] as const;

interface Size {
  readonly vectors: number;
  /** Before the graph is judged by them. */
  readonly firstQuestions: number;
  readonly questions: number;
  readonly graphVectorsMin?: number;
}

export async function benchVectors(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } },
  });
  const size: Size = values.quick
    ? { vectors: 5_000, firstQuestions: 64, questions: 50, graphVectorsMin: 2_000 }
    : { vectors: 100_000, firstQuestions: 100, questions: 300 };
  const loadBefore = loadavg()[0]?.toFixed(1);
  const figures: Figure[] = [];
  const kinds = KINDS.filter((kind) => values.only === undefined || values.only === kind);
  for (const kind of kinds) figures.push(...(await measure(kind, size)));
  return {
    figures,
    conditions: [
      `${size.vectors} vectors of ${DIMENSIONS} dimensions, ${size.questions} questions that are not among them, the ${NEAREST} nearest of each; recall against comparing all in a loop.`,
      'clustered: 1,000 clusters, two of one have a cosine of about 0.6; uniform: evenly over all directions, the worst case; texts: passages of 60 to 140 words and questions of 4 to 12, made up, with 1,000 topics, by the built-in engine.',
      'graph: as it is, always asked, 100 in sight. search: the index as it is used. memory: as the index accounts for it, with the room that a graph has to grow.',
      `Load of the machine (1 minute): ${loadBefore} before, ${loadavg()[0]?.toFixed(1)} after.`,
    ],
    notMeasured: [
      'vectors of a neural model',
      'the way over the actors (some 50 µs) and the embedding of a query',
      'searches on several threads at once: there is one',
      'a store that is not in the page cache',
    ],
    isKept: !values.quick && values.only === undefined,
  };
}

async function measure(kind: Kind, size: Size): Promise<readonly Figure[]> {
  console.error(`Making (${kind}) …`);
  const made = await madeCollection(kind, size.vectors, size.firstQuestions + size.questions);
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-vectors-'));
  try {
    return await new Measurement(kind, size, made, directory).figures();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

class Measurement {
  readonly #kind: Kind;
  readonly #size: Size;
  readonly #all: Float32Array;
  readonly #firstQuestions: readonly Float32Array[];
  readonly #questions: readonly Float32Array[];
  readonly #directory: string;
  readonly #figures: Figure[] = [];
  readonly #room = new VectorRoom(ROOM_BYTES);

  constructor(kind: Kind, size: Size, { all, questions }: Collection, directory: string) {
    this.#kind = kind;
    this.#size = size;
    this.#all = all;
    this.#firstQuestions = questions.slice(0, size.firstQuestions);
    this.#questions = questions.slice(size.firstQuestions);
    this.#directory = directory;
  }

  async figures(): Promise<readonly Figure[]> {
    const storage = await openStorage({ directory: this.#directory, primary: true });
    console.error(`Filing (${this.#kind}) …`);
    const filingMs = await timed(() => this.#fill(storage));
    this.#note('filing vectors', '/s', [(this.#size.vectors * 1_000) / filingMs], { moreIsBetter: true });
    console.error(`Comparing (${this.#kind}) …`);
    await this.#compareAll(storage);
    console.error(`Building (${this.#kind}) …`);
    await this.#askGraph(storage);
    console.error(`Searching (${this.#kind}) …`);
    await this.#search(storage);
    await storage.close();
    console.error(`Starting (${this.#kind}) …`);
    await this.#start();
    return this.#figures;
  }

  async #compareAll(storage: Storage): Promise<void> {
    const index = this.#open(storage, { graphVectorsMin: Number.POSITIVE_INFINITY });
    const [first] = this.#questions;
    this.#note('first search of an index that was just opened', 'ms', [search(index, first, {}).ms]);
    const onDisk = this.#questions.slice(0, 10).map((question) => search(index, question, {}).ms);
    this.#note('comparing, all on disk: p50', 'ms', [quantile(onDisk.sort(ascending), 0.5)]);
    this.#note('reading all into memory', 'ms', [await timed(() => settle(index))]);
    this.#note('memory of that', 'MB', [this.#room.bytes / 1024 ** 2]);
    this.#ask('comparing', index, this.#questions);
    await index.close();
  }

  async #askGraph(storage: Storage): Promise<void> {
    const index = this.#open(storage, { recallTarget: 0, prefersGraph: true });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const buildingMs = await timed(() => settle(index));
    delay.disable();
    this.#note('building the graph, with its snapshots', 's', [buildingMs / 1_000]);
    this.#note('longest that building kept the thread busy', 'ms', [delay.max / 1e6]);
    this.#note('memory of it, and of all to compare', 'MB', [this.#room.bytes / 1024 ** 2]);
    this.#ask('graph', index, this.#questions);
    await index.close();
  }

  async #search(storage: Storage): Promise<void> {
    const index = this.#open(storage);
    await settle(index);
    this.#noteJudgement('as judged by noise', index);
    this.#ask('search, judged by noise', index, this.#firstQuestions);
    await settle(index);
    this.#noteJudgement('as judged by questions', index);
    this.#ask('search', index, this.#questions, { target: RECALL_TARGET });
    for (const oneIn of OWNERS) {
      const owners = OWNERS.filter((other) => other >= oneIn).map(String);
      this.#ask(`search, filter lets 1 in ${oneIn} through`, index, this.#questions, {
        owners,
        target: RECALL_TARGET,
      });
    }
    await index.close();
  }

  async #start(): Promise<void> {
    const starts: number[] = [];
    for (let round = 0; round < STARTS; round += 1) {
      const startedMs = performance.now();
      const storage = await openStorage({ directory: this.#directory, primary: true });
      const index = this.#open(storage);
      while (!isQuick(index) && (await index.work()));
      search(index, this.#questions[round], {});
      starts.push(performance.now() - startedMs);
      if (!isQuick(index)) throw new Error('neither in the graph nor in memory');
      await index.close();
      await storage.close();
    }
    this.#note('start, to the first answer not from disk', 'ms', starts, { target: START_TARGET_MS });
  }

  #ask(
    what: string,
    index: VectorIndex,
    questions: readonly Float32Array[],
    { owners, target }: { readonly owners?: readonly string[]; readonly target?: number } = {},
  ): void {
    const times: number[] = [];
    let found = 0;
    let wanted = 0;
    for (const question of questions) {
      const { ms, ids } = search(index, question, owners === undefined ? {} : { owners });
      times.push(ms);
      const expected = nearest(
        this.#all,
        question,
        (i) => owners === undefined || owners.includes(ownerOf(i)),
      );
      wanted += expected.length;
      found += expected.filter((id) => ids.has(id)).length;
    }
    times.sort(ascending);
    const options = { moreIsBetter: true, ...(target !== undefined && { target }) };
    this.#note(`${what}: recall@${NEAREST}`, '', [found / wanted], options);
    this.#note(`${what}: p50`, 'ms', [quantile(times, 0.5)]);
    this.#note(`${what}: p99`, 'ms', [quantile(times, 0.99)]);
  }

  #noteJudgement(when: string, index: VectorIndex): void {
    const { judgement } = index.statistics();
    if (judgement === null) throw new Error('the graph was not judged');
    this.#note(`how many the graph keeps in sight, ${when} (0: all are compared)`, '', [
      judgement.width ?? 0,
    ]);
  }

  #note(what: string, unit: string, values: readonly number[], options: object = {}): void {
    this.#figures.push(figure(what, unit, values, { by: this.#kind, ...options }));
  }

  #open(storage: Storage, options: Partial<VectorIndexOptions> = {}): VectorIndex {
    const { graphVectorsMin } = this.#size;
    const passages = storage.passages('bench');
    return passages.openIndex(ENGINE, {
      room: this.#room,
      ...(graphVectorsMin !== undefined && { graphVectorsMin }),
      recallTarget: RECALL_TARGET,
      ...options,
    });
  }

  async #fill(storage: Storage): Promise<void> {
    const passages = storage.passages('bench');
    const { vectors } = this.#size;
    for (let from = 0; from < vectors; from += PER_COMMIT) {
      await storage.write('committed', (tx) => {
        for (let i = from; i < Math.min(vectors, from + PER_COMMIT); i += 1) {
          const vector = this.#all.slice(i * DIMENSIONS, (i + 1) * DIMENSIONS);
          const embedding = { engine: ENGINE, vector };
          tx.putPassage(passages, { id: String(i), owner: ownerOf(i), text: '', embedding });
        }
      });
    }
  }
}

/** The widest that has it: `1000` one in 1,000, `100` one in 100 of the others … */
function ownerOf(i: number): string {
  return String(OWNERS.findLast((oneIn) => i % oneIn === 0) ?? 'nobody');
}

function isQuick(index: VectorIndex): boolean {
  const { vectors, inGraph, inMemory, judgement } = index.statistics();
  return vectors > 0 && (typeof judgement?.width === 'number' ? inGraph : inMemory) === vectors;
}

function search(index: VectorIndex, vector: Float32Array | undefined, filter: PassageFilter) {
  if (vector === undefined) throw new Error('there are enough questions');
  const startedMs = performance.now();
  const hits = index.search({ vector, limit: NEAREST, ...filter });
  return { ms: performance.now() - startedMs, ids: new Set(hits.map(({ id }) => id)) };
}

/** By a loop of its own. */
function nearest(
  all: Float32Array,
  question: Float32Array,
  passes: (i: number) => boolean,
): readonly string[] {
  const best: { readonly i: number; readonly similarity: number }[] = [];
  for (let i = 0; i * DIMENSIONS < all.length; i += 1) {
    if (!passes(i)) continue;
    const similarity = product(question, all, i * DIMENSIONS);
    if (best.length === NEAREST && similarity <= (best.at(-1)?.similarity ?? 0)) continue;
    best.push({ i, similarity });
    best.sort((a, b) => b.similarity - a.similarity).splice(NEAREST);
  }
  return best.map(({ i }) => String(i));
}

async function settle(index: VectorIndex): Promise<void> {
  while (await index.work()) await new Promise(setImmediate);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function ascending(a: number, b: number): number {
  return a - b;
}
