// Runs: what a detached chat run costs over its model. The provider double sends 100 tokens 5 ms apart, so a run cannot be
// shorter than about 500 ms; everything (service, double, clients) shares this machine.

import { startProviderDoubleProcess } from '../test/support/provider-double-process.ts';
import { type ChatReading, readAttach, readChat, startChat } from './chat-client.ts';
import { type BenchReport, type Figure, figure, quantile } from './report.ts';
import { type BenchService, startService } from './service.ts';

const TOKENS = 100;
const TOKEN_DELAY_MS = 5;
const MODEL = 'lmstudio:double-1';
const ROUNDS = 5;
/** Warms the service up, and is what the memory figure is taken after. */
const FIRST_RUNS = 300;

export async function benchRuns(): Promise<BenchReport> {
  const text = Array.from({ length: TOKENS }, (_, i) => `token${i} `);
  const double = await startProviderDoubleProcess({ script: { text, chunkDelayMs: TOKEN_DELAY_MS } });
  const service = await startService({ LMSTUDIO_BASE_URL: double.baseUrl });
  const expected = text.join('');
  try {
    const checked = async (run: Promise<ChatReading>): Promise<ChatReading> => {
      const reading = await run;
      if (reading.text !== expected) throw new Error(`run ${reading.runId} lost text`);
      return reading;
    };
    const chat = (): Promise<ChatReading> => checked(readChat(service.url, 'Count the tokens.', MODEL));
    await concurrently(FIRST_RUNS, 20, chat);
    const figures: Figure[] = [];
    figures.push(
      figure(`resident memory after ${FIRST_RUNS} runs`, 'MB', [await service.residentMb()], { target: 300 }),
    );
    figures.push(await latency('run p50, 1 at a time', 1, 10, 560, chat));
    figures.push(await latency('run p50, 20 at a time', 20, 60, 600, chat));
    figures.push(await throughput(100, 400, 100, chat));
    figures.push(await attachFirstByte(service, checked));
    figures.push(await replay(service, chat));
    figures.push(await firstEvent(service));
    figures.push(figure('resident memory after all of this', 'MB', [await service.residentMb()]));
    figures.push(figure('processor time of the service for all of this', 's', [await service.cpuSeconds()]));
    return {
      figures,
      notMeasured: [
        'a real model or network',
        'the double and the clients apart: they share the two cores with the service',
        'tools, long histories and slow readers',
      ],
    };
  } finally {
    await service.stop();
    await double.stop();
  }
}

/** The p50 of each round. */
async function latency(
  what: string,
  width: number,
  runsPerRound: number,
  target: number,
  chat: () => Promise<ChatReading>,
): Promise<Figure> {
  const medians: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const readings = await concurrently(runsPerRound, width, chat);
    medians.push(medianOf(readings.map(({ totalMs }) => totalMs)));
  }
  return figure(what, 'ms', medians, { target });
}

async function throughput(
  width: number,
  runs: number,
  target: number,
  chat: () => Promise<ChatReading>,
): Promise<Figure> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now();
    await concurrently(runs, width, chat);
    rates.push(runs / ((performance.now() - startedMs) / 1000));
  }
  return figure(`runs finished, ${width} at a time`, '1/s', rates, { target, moreIsBetter: true });
}

/** A second reader joins each of 20 live runs in mid-run. */
async function attachFirstByte(
  service: BenchService,
  checked: (run: Promise<ChatReading>) => Promise<ChatReading>,
): Promise<Figure> {
  const medians: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const readings = await concurrently(20, 20, async () => {
      const started = startChat(service.url, 'Count the tokens.', MODEL);
      const runId = await started.runId;
      await new Promise((resolve) => setTimeout(resolve, (TOKENS * TOKEN_DELAY_MS) / 2));
      const [, attached] = await Promise.all([
        checked(started.done),
        checked(readAttach(service.url, runId)),
      ]);
      return attached;
    });
    medians.push(medianOf(readings.map(({ firstByteMs }) => firstByteMs)));
  }
  return figure('first byte of an attach to one of 20 live runs, p50', 'ms', medians, { target: 15 });
}

async function replay(service: BenchService, chat: () => Promise<ChatReading>): Promise<Figure> {
  const { runId } = await chat();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS * 4; round += 1)
    times.push((await readAttach(service.url, runId)).totalMs);
  return figure('replay of a finished run, whole', 'ms', times, { target: 15 });
}

async function firstEvent(service: BenchService): Promise<Figure> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS * 4; round += 1) {
    times.push((await readChat(service.url, 'Count the tokens.', MODEL)).firstEventMs);
  }
  return figure('first stored event of a run, idle', 'ms', times);
}

async function concurrently<T>(count: number, width: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      results.push(await work());
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

function medianOf(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
