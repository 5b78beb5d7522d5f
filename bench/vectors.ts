// Vectors: what an index of 100,000 vectors finds, how quickly, and what it takes. `npm run bench -- vectors [--quick]`
//
// On a storage of its own, in this process, without actors: a search takes the thread of the indexes for what is measured here.

import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { Passages, VectorIndex } from '../src/storage/contract.ts';
import { product } from '../src/storage/nearest.ts';
import { openStorage } from '../src/storage/storage.ts';
import { VectorRoom } from '../src/storage/vector-room.ts';
import { type BenchReport, type Figure, figure, quantile } from './report.ts';
import { type Spread, vectorMaker } from './vectors/made-vectors.ts';

const DIMENSIONS = 384;
const ENGINE = 'bench';
const NEAREST = 10;
const SEED = 7;
const PER_COMMIT = 500;
const ROOM_BYTES = 1024 ** 3;
/** Vectors of these owners: one in so many. The others have none of them. */
const OWNERS = [2, 10, 100, 1_000] as const;

interface Size {
  readonly vectors: number;
  readonly queries: number;
}

export async function benchVectors(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: 'boolean', default: false } },
  });
  const size: Size = values.quick ? { vectors: 5_000, queries: 50 } : { vectors: 100_000, queries: 300 };
  const loadBefore = loadavg()[0]?.toFixed(1);
  return {
    figures: [...(await measure('clustered', size)), ...(await measure('uniform', size))],
    conditions: [
      `${size.vectors} vectors of ${DIMENSIONS} dimensions, ${size.queries} queries of the same kind that are not among them, the ${NEAREST} nearest of each; recall against comparing all.`,
      'clustered: 1,000 clusters, two of one have a cosine of about 0.6. uniform: evenly over all directions, the worst case.',
      `Load of the machine (1 minute): ${loadBefore} before, ${loadavg()[0]?.toFixed(1)} after.`,
    ],
    notMeasured: [
      'vectors of a real model',
      'the way over the actors (some 50 µs) and the embedding of a query',
      'searches on several threads at once: there is one',
      'a store that is not in the page cache',
    ],
    isKept: !values.quick,
  };
}

async function measure(spread: Spread, size: Size): Promise<readonly Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-vectors-'));
  try {
    const next = vectorMaker(spread, DIMENSIONS, SEED);
    const all = new Float32Array(size.vectors * DIMENSIONS);
    for (let i = 0; i < size.vectors; i += 1) all.set(next(), i * DIMENSIONS);
    const queries = Array.from({ length: size.queries }, next);
    return await measureIn(directory, spread, all, queries);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measureIn(
  directory: string,
  by: string,
  all: Float32Array,
  queries: readonly Float32Array[],
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const note = (what: string, unit: string, values: readonly number[], options: object = {}): void => {
    figures.push(figure(what, unit, values, { by, ...options }));
  };
  let storage = await openStorage({ directory, primary: true });
  console.error(`Filing (${by}) …`);
  const count = all.length / DIMENSIONS;
  const filing = await timed(() => fill(storage, all));
  note('filing vectors', '/s', [count / (filing / 1_000)], { moreIsBetter: true });

  let passages = storage.passages('bench');
  const compared = open(passages, Number.POSITIVE_INFINITY);
  const few = queries.slice(0, 10);
  note('first search of an index that was just opened', 'ms', [search(compared, queries[0], {}).ms]);
  note(
    'search, all on disk: compared there',
    'ms',
    few.map((query) => search(compared, query, {}).ms),
  );
  const reading = await timed(() => settle(compared));
  note('reading all into memory', 'ms', [reading]);
  note(
    'search, all in memory: compared there',
    'ms',
    few.map((query) => search(compared, query, {}).ms),
  );
  await compared.close();

  console.error(`Building (${by}) …`);
  let index = open(passages);
  const rssBefore = rssMb();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const building = await timed(() => settle(index));
  delay.disable();
  note('building the graph, with its snapshots', 's', [building / 1_000]);
  note('longest that building kept the thread busy', 'ms', [delay.max / 1e6]);
  note('memory of the graph', 'MB', [rssMb() - rssBefore]);

  console.error(`Searching (${by}) …`);
  const ownersOf = (i: number): string => ownerOf(i);
  figures.push(...measureSearches(by, index, all, queries, null, ownersOf));
  for (const one of OWNERS) figures.push(...measureSearches(by, index, all, queries, one, ownersOf));
  await index.close();
  await storage.close();

  console.error(`Starting (${by}) …`);
  const starts: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const startedMs = performance.now();
    storage = await openStorage({ directory, primary: true });
    passages = storage.passages('bench');
    index = open(passages);
    while (index.statistics().inGraph < count && (await index.work()));
    search(index, queries[round], {});
    starts.push(performance.now() - startedMs);
    if (index.statistics().inGraph < count) throw new Error('the snapshot was not taken over');
    await index.close();
    await storage.close();
  }
  note('start with the snapshot, to the first answer of the graph', 'ms', starts, { target: 2_000 });
  return figures;
}

function measureSearches(
  by: string,
  index: VectorIndex,
  all: Float32Array,
  queries: readonly Float32Array[],
  oneIn: number | null,
  ownersOf: (i: number) => string,
): readonly Figure[] {
  const owners = oneIn === null ? undefined : OWNERS.filter((other) => other >= oneIn).map(String);
  const filter = owners === undefined ? {} : { owners };
  const times: number[] = [];
  let found = 0;
  let wanted = 0;
  for (const query of queries) {
    const { ms, ids } = search(index, query, filter);
    times.push(ms);
    const expected = exact(all, query, (i) => owners === undefined || owners.includes(ownersOf(i)));
    wanted += expected.length;
    found += expected.filter((id) => ids.has(id)).length;
  }
  times.sort((a, b) => a - b);
  const which = oneIn === null ? 'search' : `search, filter lets 1 in ${oneIn} through`;
  const total = times.reduce((sum, ms) => sum + ms, 0);
  const target = oneIn === null && by === 'clustered' ? { target: 0.95 } : {};
  return [
    figure(`${which}: recall@${NEAREST}`, '', [found / wanted], { by, moreIsBetter: true, ...target }),
    figure(`${which}: p50`, 'ms', [quantile(times, 0.5)], { by }),
    figure(`${which}: p99`, 'ms', [quantile(times, 0.99)], { by }),
    ...(oneIn === null
      ? [
          figure(`${which}: one after the other`, '/s', [(times.length * 1_000) / total], {
            by,
            moreIsBetter: true,
          }),
        ]
      : []),
  ];
}

function open(passages: Passages, graphVectorsMin?: number): VectorIndex {
  const room = new VectorRoom(ROOM_BYTES);
  return passages.openIndex(ENGINE, graphVectorsMin === undefined ? { room } : { room, graphVectorsMin });
}

async function fill(storage: Awaited<ReturnType<typeof openStorage>>, all: Float32Array): Promise<void> {
  const passages = storage.passages('bench');
  const count = all.length / DIMENSIONS;
  for (let from = 0; from < count; from += PER_COMMIT) {
    await storage.write('committed', (tx) => {
      for (let i = from; i < Math.min(count, from + PER_COMMIT); i += 1) {
        const vector = all.slice(i * DIMENSIONS, (i + 1) * DIMENSIONS);
        tx.putPassage(passages, {
          id: String(i),
          owner: ownerOf(i),
          text: '',
          embedding: { engine: ENGINE, vector },
        });
      }
    });
  }
}

/** The widest that has it: `1000` one in 1,000, `100` one in 100 of the others … */
function ownerOf(i: number): string {
  return String(OWNERS.findLast((oneIn) => i % oneIn === 0) ?? 'nobody');
}

function search(index: VectorIndex, vector: Float32Array | undefined, filter: object) {
  if (vector === undefined) throw new Error('there are enough queries');
  const startedMs = performance.now();
  const hits = index.search({ vector, limit: NEAREST, ...filter });
  return { ms: performance.now() - startedMs, ids: new Set(hits.map(({ id }) => id)) };
}

function exact(all: Float32Array, query: Float32Array, passes: (i: number) => boolean): readonly string[] {
  const best: { readonly i: number; readonly similarity: number }[] = [];
  for (let i = 0; i * DIMENSIONS < all.length; i += 1) {
    if (!passes(i)) continue;
    const similarity = product(query, all, i * DIMENSIONS);
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

function rssMb(): number {
  return process.memoryUsage.rss() / 1024 ** 2;
}
