// Embeddings: what the pool of threads makes of a model, against the same model called directly on one thread; and how long a
// query waits while bulk work fills both. With a random model of the shape of MiniLM-L6, and with the built-in one. And how long
// the whole service takes to say how it is meanwhile.
//   --note TEXT  a condition of this run, kept with its figures

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openFolderEngine } from '../src/actors/embeddings/folder-engine.ts';
import { openLexicalEngine } from '../src/actors/embeddings/lexical-engine.ts';
import type { Model } from '../src/actors/embeddings/model.ts';
import { TEXTS_MAX } from '../src/actors/embeddings/protocol.ts';
import { systemRandom } from '../src/std/ids.ts';
import { type BertShape, writeBertFolder } from '../test/support/bert-model.ts';
import { healthFigures } from './embeddings/health.ts';
import { type Installation, openInstallation } from './embeddings/installation.ts';
import { type BenchReport, type Figure, figure, quantile } from './report.ts';

const ROUNDS = 9;
const LATENCY_ROUNDS = 3;
const QUERIES_PER_ROUND = 120;
const QUERY_PAUSE_MS = 40;
const BYTES_PER_MB = 1024 * 1024;
/** With `[CLS]` and `[SEP]` a text of 128 tokens. */
const TEXT_WORDS = 126;
const QUERY_WORDS = 10;
/** What one call is given directly; the quickest of them is what the pool is compared with. */
const DIRECT_BATCHES = [1, 8, 32];
/** To the pool the texts come as they do when all vectors are made again, with a few hundred ahead of what is worked on. */
const REQUEST_TEXTS = 64;
const REQUESTS_OPEN = 8;
/** Of a request for the health of the service. */
const HEALTH_TEXTS = 128;

const LETTERS = [...'abcdefghijklmnopqrst'];
const WORDS = LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.slice(0, 3).map((c) => a + b + c)));

/** MiniLM-L6, but for its vocabulary: the rows of a table, of which a text reads as many either way. */
const MINILM: BertShape = {
  width: 384,
  layers: 6,
  heads: 12,
  inner: 1_536,
  positions: 512,
  words: WORDS,
  seed: 1,
};

interface Subject {
  readonly by: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly textsPerRound: number;
  readonly openDirectly: (modelsFolder: string) => Promise<Model>;
}

const text = (words: number): string =>
  Array.from({ length: words }, () => WORDS[Math.floor(Math.random() * WORDS.length)]).join(' ');
const texts = (count: number, words = TEXT_WORDS): string[] =>
  Array.from({ length: count }, () => text(words));

export async function benchEmbeddings(args: readonly string[]): Promise<BenchReport> {
  const noteAt = args.indexOf('--note');
  const folder = await mkdtemp(join(tmpdir(), 'bench-models-'));
  const directory = await writeBertFolder(join(folder, 'minilm-shape'), MINILM);
  const source = {
    kind: 'folder',
    directory,
    file: null,
    dimensions: 0,
    queryPrefix: null,
    passagePrefix: null,
  } as const;
  const subjects: readonly Subject[] = [
    {
      by: 'MiniLM-L6 shape, 128 tokens',
      settings: { model_dir: directory },
      textsPerRound: 128,
      openDirectly: () => openFolderEngine(source, 1),
    },
    {
      by: `built in, ${TEXT_WORDS} words`,
      settings: {},
      textsPerRound: 8_192,
      openDirectly: (modelsFolder) => openLexicalEngine(modelsFolder, 1, systemRandom),
    },
  ];
  try {
    const figures: Figure[] = [];
    for (const subject of subjects) figures.push(...(await figuresOf(subject)));
    figures.push(...(await healthFigures(texts, HEALTH_TEXTS)));
    return {
      figures,
      conditions: [
        `pool and direct call take turns, ${ROUNDS} rounds; directly in batches of ${DIRECT_BATCHES.join(', ')}, whichever was the quickest at first; a ratio is of two neighbours`,
        'processor time is that of all threads together: with it the ratio can be told on a machine that others use, two cores do at most twice as much as one for the same time a text',
        '/api/health is asked for without a pause, of a service of its own with the built-in model',
        ...(noteAt === -1 ? [] : args.slice(noteAt + 1, noteAt + 2)),
        `under full load: two bulk requests of ${subjects[0]?.textsPerRound} texts or more are always open, and no vector is cached`,
      ],
      notMeasured: [
        'a trained model and its tokenizer, whose vocabulary is larger',
        'quantised graphs, and more than one core a run',
        'the rest of the service beside it',
        'a remote engine',
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function figuresOf(subject: Subject): Promise<Figure[]> {
  const { by, settings, textsPerRound, openDirectly } = subject;
  const directory = await mkdtemp(join(tmpdir(), 'bench-embeddings-'));
  const allSettings = { ...settings, cache_mb: 0, idle_seconds: 3_600 };
  // Locks the engine; what comes next finds no thread.
  await (await openInstallation(allSettings, directory)).stop();
  const before = process.memoryUsage.rss();
  const installation = await openInstallation(allSettings, directory);
  try {
    const firstMs = await timed(() => installation.embed(texts(1, QUERY_WORDS), 'interactive'));
    await runPooled(installation, texts(textsPerRound));
    const memoryMb = (process.memoryUsage.rss() - before) / BYTES_PER_MB;
    const figures = [
      figure('first query, threads asleep', 'ms', [firstMs], { by }),
      figure('memory of two threads with it', 'MB', [memoryMb], { by }),
      ...(await latencies(installation, subject)),
    ];
    const direct = await openDirectly(installation.modelsFolder);
    figures.push(...(await throughput(installation, direct, subject)));
    await direct.close();
    return figures;
  } finally {
    await installation.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function throughput(
  installation: Installation,
  direct: Model,
  { by, textsPerRound }: Subject,
): Promise<Figure[]> {
  const size = await quickestBatch(direct, textsPerRound);
  const pooled: Measured[] = [];
  const directly: Measured[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const alone = texts(textsPerRound);
    const given = texts(2 * textsPerRound);
    const one = await measured(alone, () => runDirectly(direct, alone, size));
    const all = await measured(given, () => runPooled(installation, given));
    if (round < 0) continue; // Warms both up.
    directly.push(one);
    pooled.push(all);
  }
  const ratios = (of: (measured: Measured) => number): number[] =>
    pooled.map((all, round) => of(all) / of(directly[round] as Measured));
  const rates = (of: readonly Measured[]): number[] => of.map(({ rate }) => rate);
  return [
    figure('texts a second, directly on one thread', 'texts/s', rates(directly), { by, moreIsBetter: true }),
    figure('texts a second, by the pool', 'texts/s', rates(pooled), { by, moreIsBetter: true }),
    figure(
      'the pool against the direct call',
      '×',
      ratios(({ rate }) => rate),
      { by, target: 1.7, moreIsBetter: true },
    ),
    figure(
      'processor time of a text by the pool, against the direct call',
      '×',
      ratios(({ cpuUs }) => cpuUs),
      { by },
    ),
  ];
}

interface Measured {
  /** Texts a second. */
  readonly rate: number;
  /** Of a text, all threads together. */
  readonly cpuUs: number;
}

async function measured(given: readonly string[], work: () => Promise<unknown>): Promise<Measured> {
  const before = process.cpuUsage();
  const tookMs = await timed(work);
  const { user, system } = process.cpuUsage(before);
  return { rate: (given.length / tookMs) * 1_000, cpuUs: (user + system) / given.length };
}

async function quickestBatch(direct: Model, count: number): Promise<number> {
  const given = texts(count);
  let [quickest, bestMs] = [1, Number.POSITIVE_INFINITY];
  for (const size of DIRECT_BATCHES) {
    await runDirectly(direct, given.slice(0, size), size);
    const tookMs = await timed(() => runDirectly(direct, given, size));
    if (tookMs < bestMs) [quickest, bestMs] = [size, tookMs];
  }
  return quickest;
}

async function runDirectly(model: Model, given: readonly string[], size: number): Promise<void> {
  const { signal } = new AbortController();
  for (let at = 0; at < given.length; at += size)
    await model.run(given.slice(at, at + size), 'passage', signal);
}

async function runPooled(installation: Installation, given: readonly string[]): Promise<void> {
  let from = 0;
  const one = async (): Promise<void> => {
    while (from < given.length) {
      const request = given.slice(from, from + REQUEST_TEXTS);
      from += REQUEST_TEXTS;
      await installation.embed(request, 'bulk');
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_OPEN }, one));
}

/** Of queries, one after the other, while bulk work is never out; and how late the edge was meanwhile. */
async function latencies(installation: Installation, { by, textsPerRound }: Subject): Promise<Figure[]> {
  const figures: Figure[] = [];
  const edge: number[] = [];
  for (const [what, words] of [
    ['a query', QUERY_WORDS],
    ['a query of 128 tokens', TEXT_WORDS],
  ] as const) {
    const [medians, nineties]: [number[], number[]] = [[], []];
    for (let round = 0; round < LATENCY_ROUNDS; round += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      const bulk = keepBusy(installation, textsPerRound);
      await new Promise((resolve) => setTimeout(resolve, 500));
      delay.enable();
      const times: number[] = [];
      for (let query = 0; query < QUERIES_PER_ROUND; query += 1) {
        const pauseMs = Math.random() * QUERY_PAUSE_MS;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        times.push(await timed(() => installation.embed([text(words)], 'interactive')));
      }
      delay.disable();
      edge.push(delay.percentile(99) / 1e6);
      await bulk.stop();
      times.sort((a, b) => a - b);
      medians.push(quantile(times, 0.5));
      nineties.push(quantile(times, 0.99));
    }
    figures.push(figure(`${what} under full bulk load, p50`, 'ms', medians, { by }));
    const target = words === QUERY_WORDS ? { target: 50 } : {};
    figures.push(figure(`${what} under full bulk load, p99`, 'ms', nineties, { by, ...target }));
  }
  figures.push(figure('lateness of the edge thread meanwhile, p99', 'ms', edge, { by }));
  return figures;
}

function keepBusy(installation: Installation, count: number): { stop(): Promise<void> } {
  let isWanted = true;
  const feed = async (): Promise<void> => {
    // Made once: to make them takes the edge thread, which is looked at as well.
    const given = texts(Math.min(count, TEXTS_MAX));
    while (isWanted) await installation.embed(given, 'bulk');
  };
  const feeding = Promise.all([feed(), feed()]);
  return {
    async stop() {
      isWanted = false;
      await feeding;
    },
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
