// FanOut: one run and thousands of readers. How many events a second reach them all, and how late; what a reader that has
// stopped reading costs; how soon one that comes later has read everything. An event that one reader reads counts one, and
// every reader checks that its numbers are complete. The readers have a process of their own (reader-process.ts).
//
//   npm run bench -- fan-out [readers=5000] [seconds=8] [only=rates|stopped|replay]

import { readFile } from 'node:fs/promises';
import { type BenchReport, type Figure, figure, quantile } from '../report.ts';
import { type BenchService, startService } from '../service.ts';
import { type GatedRun, GatedRuns, type Script } from './gated-runs.ts';
import { type Finish, type ReaderProcess, startReaderProcess } from './reader-process.ts';

/** Events a second that the run says. */
const RATES: readonly number[] = [20, 100, 200, 400];
/** The aim is 500,000 events a second where more than that are on offer. */
const DELIVERED_AIM = 500_000;
const STOPPED_READERS = 200;
/** Beside the stopped ones. */
const GOING_READERS = 50;
const GOING_SCRIPT: Script = { chunks: tokens(200), everyMs: 10 };
/** Far more for each than the sockets in between hold. */
const STOPPED_SCRIPT: Script = {
  chunks: Array.from({ length: 1_000 }, () => 'x'.repeat(8_000)),
  everyMs: 10,
};
const REPLAYED_EVENTS = 5_000;
const REPLAYS = 200;
/** The load of other runs: so many, each with a reader, at so many events a second. */
const OTHER_RUNS = 250;
const OTHER_RATE = 20;
const OTHER_SECONDS = 15;
/** Until everything that is on its way has come to rest. */
const SETTLE_MS = 2_000;

interface Stage {
  readonly service: BenchService;
  readonly port: number;
  readonly runs: GatedRuns;
  readonly readers: ReaderProcess;
  readonly readerCount: number;
  readonly seconds: number;
}

type Question = (stage: Stage) => Promise<readonly Figure[]>;

const QUESTIONS: Readonly<Record<string, Question>> = {
  rates: async (stage) => {
    const figures: Figure[] = [];
    for (const rate of RATES) figures.push(...(await atRate(stage, rate)));
    return figures;
  },
  stopped: stoppedReaders,
  replay: replays,
};

export async function benchFanOut(args: readonly string[]): Promise<BenchReport> {
  const options = Object.fromEntries(args.map((arg) => arg.split('=', 2)));
  const { readers = '5000', seconds = '8', only } = options as Readonly<Record<string, string>>;
  const figures: Figure[] = [];
  for (const [name, question] of Object.entries(QUESTIONS)) {
    if (only !== undefined && only !== name) continue;
    // Each on a service of its own: what one leaves in memory is no part of another's figures.
    const stage = await setStage(Number(readers), Number(seconds));
    try {
      figures.push(...(await question(stage)));
    } finally {
      await strike(stage);
    }
  }
  return {
    figures,
    notMeasured: [
      'a network: everything goes over loopback, whose sends do the receiving too',
      'the provider double apart: it shares its process with the bench, and the two processors with the service and the readers',
    ],
    conditions: [`${readers} readers of one run, ${seconds} s at each rate`],
    isKept: only === undefined,
  };
}

async function setStage(readerCount: number, seconds: number): Promise<Stage> {
  const runs = await GatedRuns.open();
  const service = await startService(runs.environment, ['--expose-gc']);
  return {
    service,
    port: Number(service.url.port),
    runs,
    readers: startReaderProcess(),
    readerCount,
    seconds,
  };
}

async function strike({ service, runs, readers }: Stage): Promise<void> {
  await readers.stop();
  await service.stop();
  await runs.stop();
}

/** A run that speaks at a steady rate: what arrives, how late, and what it costs. */
async function atRate(stage: Stage, rate: number): Promise<readonly Figure[]> {
  const { run, seqBefore } = await crowd(stage);
  const script = { chunks: tokens(rate * stage.seconds), everyMs: 1_000 / rate };
  const cpuBefore = await stage.service.cpuSeconds();
  const { finish, firstDueAtMs } = await play(stage, run, seqBefore, script);
  const tookSeconds = (finish.endedAtMs - firstDueAtMs) / 1_000;
  const cpuSeconds = (await stage.service.cpuSeconds()) - cpuBefore;
  const of = `${rate} events/s`;
  const isAim = rate * stage.readerCount > DELIVERED_AIM;
  const deliveredTo = isAim ? { by: of, target: DELIVERED_AIM, moreIsBetter: true } : { by: of };
  return [
    figure('events delivered', '1/s', [finish.eventCount / tookSeconds], deliveredTo),
    figure('lateness of an event at its readers, p50', 'ms', [quantile(finish.latenessMs, 0.5)], { by: of }),
    figure('lateness of an event at its readers, p99', 'ms', [quantile(finish.latenessMs, 0.99)], { by: of }),
    figure('processors that the service took', '', [cpuSeconds / tookSeconds], { by: of }),
  ];
}

/** A run with all its readers. */
async function crowd({ runs, service, readers, port, readerCount }: Stage): Promise<{
  readonly run: GatedRun;
  readonly seqBefore: number;
}> {
  const run = await runs.start(service.url);
  return { run, seqBefore: await readers.ask('attach', { port, runId: run.runId, count: readerCount }) };
}

/** @throws when a reader missed anything. */
async function play(
  { readers }: Stage,
  run: GatedRun,
  seqBefore: number,
  script: Script,
): Promise<{ readonly finish: Finish; readonly firstDueAtMs: number }> {
  const firstAtMs = run.letGo(script);
  await readers.ask('expect', { firstSeq: seqBefore + 1, firstAtMs, everyMs: script.everyMs });
  const finish = await readers.ask('finish');
  const { eventCount } = await run.done;
  assertComplete(finish, eventCount);
  return { finish, firstDueAtMs: firstAtMs };
}

function assertComplete(
  { flaws, lastSeqLowest }: { readonly flaws: readonly string[]; readonly lastSeqLowest: number },
  eventCount: number,
): void {
  if (flaws.length > 0) throw new Error(`readers were shown wrong events: ${flaws.join('; ')}`);
  if (lastSeqLowest !== eventCount)
    throw new Error(`a reader ended after event ${lastSeqLowest} of ${eventCount}`);
}

function tokens(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `token${i} `);
}

/** What readers hold who have stopped in the middle of a long run, and whether others hear of the next run later for them. */
async function stoppedReaders(stage: Stage): Promise<readonly Figure[]> {
  const { service, runs, readers, port } = stage;
  const going = { ...stage, readerCount: GOING_READERS };
  const lateness = async (): Promise<number> => {
    const { run, seqBefore } = await crowd(going);
    const { finish } = await play(going, run, seqBefore, GOING_SCRIPT);
    return quantile(finish.latenessMs, 0.99);
  };
  const long = await runs.start(service.url);
  long.letGo(STOPPED_SCRIPT);
  const { eventCount } = await long.done;
  await lateness();
  const latenessAlone = await lateness();
  const heldBefore = await service.heldBytes();
  await readers.ask('attachStopped', { port, runId: long.runId, count: STOPPED_READERS });
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const held = (await service.heldBytes()) - heldBefore;
  const queued = await queuedBytes(port);
  const latenessBeside = await lateness();
  assertComplete(await readers.ask('finishStopped'), eventCount);
  const perReader = (bytes: number): number[] => [bytes / 1024 / STOPPED_READERS];
  return [
    figure('memory of the service for a stopped reader', 'KB', perReader(held), { target: 64 }),
    figure('memory of the kernel for it, both ends of its socket', 'KB', perReader(queued)),
    figure('lateness at readers beside nobody, p99', 'ms', [latenessAlone]),
    figure(`lateness at readers beside ${STOPPED_READERS} stopped ones, p99`, 'ms', [latenessBeside]),
  ];
}

/** What the sockets of a port hold that nobody has taken yet, at both ends. */
async function queuedBytes(port: number): Promise<number> {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let bytes = 0;
  for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    if (!local.endsWith(hex) && !remote.endsWith(hex)) continue;
    for (const queue of queues.split(':')) bytes += Number.parseInt(queue, 16);
  }
  return bytes;
}

/** Of one run, when nothing else goes on and beside others. */
async function replays(stage: Stage): Promise<readonly Figure[]> {
  const { service, runs } = stage;
  const run = await runs.start(service.url);
  // Tokens that come faster are put together into one event.
  run.letGo({ chunks: tokens(REPLAYED_EVENTS), everyMs: 4 });
  const { eventCount } = await run.done;
  const idle = await replay(stage, run.runId, eventCount, 'idle');
  const others = await Promise.all(Array.from({ length: OTHER_RUNS }, () => runs.start(service.url)));
  const script = { chunks: tokens(OTHER_RATE * OTHER_SECONDS), everyMs: 1_000 / OTHER_RATE };
  for (const other of others) other.letGo(script);
  const beside = `beside ${OTHER_RUNS} runs at ${OTHER_RATE} events/s`;
  const busy = await replay(stage, run.runId, eventCount, beside);
  await Promise.all(others.map(({ done }) => done));
  return [...idle, ...busy];
}

async function replay(
  { readers, port }: Stage,
  runId: string,
  eventCount: number,
  by: string,
): Promise<readonly Figure[]> {
  await readers.ask('replay', { port, runId, rounds: REPLAYS / 4 });
  const { firstByteMs, wholeMs, ...reading } = await readers.ask('replay', { port, runId, rounds: REPLAYS });
  assertComplete(reading, eventCount);
  const of = (what: string, values: readonly number[], target: number): Figure[] => {
    const sorted = values.toSorted((a, b) => a - b);
    const label = `attach to a run of ${eventCount} events, ${what}`;
    return [
      figure(`${label} p50`, 'ms', [quantile(sorted, 0.5)], { by }),
      figure(`${label} p99`, 'ms', [quantile(sorted, 0.99)], { by, target }),
    ];
  };
  return [...of('first byte', firstByteMs, 10), ...of('whole', wholeMs, 40)];
}
