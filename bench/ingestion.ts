// Ingestion: how fast documents become ready, over HTTP in a process of its own, and how soon the service answers meanwhile.
// A round begins with the first byte of an upload and ends when all documents are ready. Each has the chunks that the same code
// cuts directly, and is found by a word that only it has, or the round does not count.
//   --quick        small files, two rounds; not kept
//   --only TEXT    what has it in its name; not kept
//   --profile DIR  processor profiles of all threads of the service; not kept

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { DocumentFile } from '../src/actors/ingestion/reading.ts';
import { type CorpusFile, markdownFiles, pdfFiles } from './ingestion/corpus.ts';
import type { DirectDoor } from './ingestion/direct-process.ts';
import type { HealthFigures, HealthWatchDoor } from './ingestion/health-watch-process.ts';
import { answer, Project } from './ingestion/project.ts';
import { type Child, startChild } from './load/child.ts';
import { type BenchReport, type Figure, figure } from './report.ts';
import { type BenchService, startService } from './service.ts';

const BYTES_PER_MB = 1024 * 1024;
const KB = 1024;
const ROUNDS = 3;
const HEALTH_TARGET_MS = 20;
const CALM_MS = 3_000;
/** Of a core. */
const REST_SHARE = 0.1;
const REST_LOOK_MS = 500;
const REST_LOOKS_MAX = 240;
/** How many documents are read at a time, where there are several. */
const POOLS = [1, 2];

interface Subject {
  readonly by: string;
  readonly unit: 'MB/s' | 'pages/s';
  readonly amount: number;
  readonly files: readonly CorpusFile[];
}

interface Round {
  readonly rate: number;
  readonly health: HealthFigures;
}

interface Stage {
  readonly service: BenchService;
  readonly direct: Child<DirectDoor>;
  readonly watch: Child<HealthWatchDoor>;
  readonly folder: string;
  readonly isProfiled: boolean;
}

export async function benchIngestion(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      only: { type: 'string', default: '' },
    },
  });
  const nodeOptions = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const stage: Stage = {
    service: await startService({}, nodeOptions),
    direct: startChild<DirectDoor>(new URL('./ingestion/direct-process.ts', import.meta.url)),
    watch: startChild<HealthWatchDoor>(new URL('./ingestion/health-watch-process.ts', import.meta.url)),
    folder: await mkdtemp(join(tmpdir(), 'bench-ingestion-')),
    isProfiled: values.profile !== undefined,
  };
  try {
    const figures: Figure[] = [];
    // By its search tool it is checked what is found.
    await configure(stage, { mcp: { server: { enabled: true } } });
    const calm = await watched(stage, () => new Promise((resolve) => setTimeout(resolve, CALM_MS)));
    figures.push(...healthFigures('no ingestion', [calm]));
    for (const subject of subjects(values.quick).filter(({ by }) => by.includes(values.only))) {
      figures.push(...(await measure(stage, subject, values.quick ? 2 : ROUNDS)));
    }
    figures.push(figure('resident memory afterwards', 'MB', [await stage.service.residentMb()]));
    return {
      figures,
      conditions: [
        `rounds take turns: directly on one thread, then by the service with ${POOLS.join(' and ')} documents at a time`,
        'health is asked for every 10 ms, whether the last answer has come or not; uploads, embedding with the built-in model, indexing and commits are part of a round',
        'what bounds it: the index of words; one thread decides what a part of a document changes in it, then the engine writes the pages, in turn',
        'the first round of a subject may find all threads asleep',
      ],
      notMeasured: [
        'a trained model, which bounds everything: a chunk takes it some 20 ms',
        'descriptions by a model: there is none here',
        'PDFs with embedded fonts and pictures, which take longer to parse',
      ],
      isKept: !values.quick && values.only === '' && !stage.isProfiled,
    };
  } finally {
    await Promise.all([stage.service.stop(), stage.direct.stop(), stage.watch.stop()]);
    await rm(stage.folder, { recursive: true, force: true });
  }
}

function subjects(isQuick: boolean): readonly Subject[] {
  const markdown = (by: string, count: number, bytesEach: number, seed: number): Subject => {
    const files = markdownFiles(count, bytesEach, seed);
    const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
    return { by, unit: 'MB/s', amount: bytes / BYTES_PER_MB, files };
  };
  const pdf = (by: string, count: number, pagesEach: number, seed: number): Subject => {
    return { by, unit: 'pages/s', amount: count * pagesEach, files: pdfFiles(count, pagesEach, seed) };
  };
  if (isQuick)
    return [markdown('markdown, 10 of 100 KB', 10, 100 * KB, 1), pdf('PDF, 4 of 50 pages', 4, 50, 2)];
  return [
    markdown('markdown, 100 of 20 KB', 100, 20 * KB, 1),
    markdown('markdown, 10 of 400 KB', 10, 400 * KB, 2),
    markdown('markdown, 1 of 5 MB', 1, 5_000 * KB, 3),
    pdf('PDF, 20 of 20 pages', 20, 20, 4),
    pdf('PDF, 1 of 2,000 pages', 1, 2_000, 5),
  ];
}

async function measure(
  stage: Stage,
  { by, unit, amount, files }: Subject,
  rounds: number,
): Promise<Figure[]> {
  console.error(`Measuring ${by} …`);
  const directly: number[] = [];
  const pools = POOLS.slice(0, files.length);
  const pooled = new Map<number, Round[]>(pools.map((pool) => [pool, []]));
  const onDisk = await Promise.all(files.map((file) => placed(stage.folder, file)));
  for (let round = 0; round < rounds; round += 1) {
    const { tookMs, chunks } = await stage.direct.ask('read', onDisk);
    const chunksByName = new Map(files.map(({ filename }, i) => [filename, chunks[i] ?? 0]));
    directly.push((amount * 1_000) / tookMs);
    for (const [pool, done] of pooled) {
      await configure(stage, { ingestion: { documents_at_once: pool } });
      const project = await Project.create(stage.service.url);
      let tookMs = 0;
      const health = await watched(stage, async () => {
        tookMs = await project.ingest(files);
      });
      await project.check(files, chunksByName);
      await project.remove();
      // A profile is work without end.
      if (!stage.isProfiled) await atRest(stage.service);
      done.push({ rate: (amount * 1_000) / tookMs, health });
      console.error(`  ${pool} at a time: ${((amount * 1_000) / tookMs).toFixed(2)} ${unit}`, health);
    }
  }
  const more = { moreIsBetter: true };
  return [
    figure(`parsed directly on one thread, ${unit}`, unit, directly, { by, ...more }),
    ...[...pooled].flatMap(([pool, done]) => [
      figure(
        `upload to ready, ${pool} at a time`,
        unit,
        done.map(({ rate }) => rate),
        { by, ...more },
      ),
    ]),
    ...[...pooled].flatMap(([pool, done]) =>
      healthFigures(
        `${by}, ${pool} at a time`,
        done.map(({ health }) => health),
      ),
    ),
  ];
}

function healthFigures(by: string, rounds: readonly HealthFigures[]): Figure[] {
  const each = (of: (round: HealthFigures) => number): number[] => rounds.map(of);
  return [
    figure(
      '/api/health p50',
      'ms',
      each(({ p50 }) => p50),
      { by },
    ),
    figure(
      '/api/health p99',
      'ms',
      each(({ p99 }) => p99),
      { by, target: HEALTH_TARGET_MS },
    ),
    figure(
      '/api/health max',
      'ms',
      each(({ max }) => max),
      { by },
    ),
  ];
}

/** What a round has left is removed in the background, which is work as well. */
async function atRest(service: BenchService): Promise<void> {
  for (let looked = 0; looked < REST_LOOKS_MAX; looked += 1) {
    const before = await service.cpuSeconds();
    await new Promise((resolve) => setTimeout(resolve, REST_LOOK_MS));
    const share = ((await service.cpuSeconds()) - before) / (REST_LOOK_MS / 1_000);
    if (share < REST_SHARE) return;
  }
  throw new Error('the service does not come to rest');
}

async function configure({ service }: Stage, settings: object): Promise<void> {
  await answer(new URL('/api/config/update', service.url), 'POST', settings);
}

async function watched(stage: Stage, work: () => Promise<unknown>): Promise<HealthFigures> {
  await stage.watch.ask('watch', { url: new URL('/api/health', stage.service.url).href });
  await work();
  return stage.watch.ask('figures', null);
}

async function placed(folder: string, { filename, bytes }: CorpusFile): Promise<DocumentFile> {
  const path = join(folder, filename);
  await writeFile(path, bytes);
  return { filename, path };
}
