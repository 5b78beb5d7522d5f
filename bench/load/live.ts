// Live: runs that go on at a common rate, some of them with a reader. First they are started, then held for a while, with
// further turns and replays beside them; then the rate is doubled until the readers fall behind; then all are ended, and every
// event of every run is looked at.

import { type Figure, figure } from '../report.ts';
import type { Beginning, Latencies, Replays, Verdict } from './crowd.ts';
import type { Spread } from './spread.ts';
import type { ProcessorTime, Stage } from './stage.ts';

export interface LiveOptions {
  readonly runs: number;
  readonly readers: number;
  readonly seconds: number;
  /** Events of each run. */
  readonly perSecond: number;
  readonly startsPerSecond: number;
}

export interface LiveResult {
  readonly figures: readonly Figure[];
  readonly conditions: readonly string[];
}

/** Falling behind by so much is a backlog that grows. */
const LAG_MAX_MS = 1_000;
/** A rate is held when the double could send nearly all of it. */
const SENT_SHARE_MIN = 0.97;
const STEP_SECONDS = 10;
const STEP_SETTLE_MS = 3_000;
const CALM_MS = 3_000;
const STEPS_MAX = 6;
const ENDINGS_PER_SECOND = 200;
const REPLAYED = { tokens: 5_200, perSecond: 500 };
const REPLAYS_PER_SECOND = 1;
const PROBE = { tokens: 5, perSecond: 50 };
const PROBES_PER_SECOND = 5;

interface Held {
  readonly window: Window;
  readonly probes: Latencies;
  readonly replays: Replays;
  readonly residentMbMax: number;
}

/** A while under load. */
interface Window {
  readonly lag: Spread;
  readonly sentPerSecond: number;
  /** How much of one core each process used. */
  readonly cores: ProcessorTime;
}

interface Findings {
  readonly ramp: Beginning;
  readonly held: Held;
  readonly steps: readonly Step[];
  readonly residentMbMax: number;
  readonly verdict: Verdict;
  readonly replayedEvents: number;
}

interface Step {
  readonly perSecond: number;
  readonly isHeld: boolean;
  readonly window: Window;
}

export async function measureLive(stage: Stage, options: LiveOptions): Promise<LiveResult> {
  const { runs, readers, perSecond, startsPerSecond } = options;
  const { crowd, double } = stage;
  const replayed = await crowd.ask('finished', REPLAYED);
  await double.ask('setRate', perSecond);
  const ramp = await crowd.ask('begin', { runs, readers, perSecond: startsPerSecond });
  const held = await hold(stage, options, replayed.runId);
  const steps = await climb(stage, options, held.window);
  const residentMbMax = Math.max(held.residentMbMax, await stage.service.residentMb());
  await double.ask('setRate', perSecond);
  await pause(CALM_MS);
  await double.ask('finish', ENDINGS_PER_SECOND);
  const verdict = await crowd.ask('settle', null);
  const findings = { ramp, held, steps, residentMbMax, verdict, replayedEvents: replayed.events };
  return { figures: figuresOf(options, findings), conditions: conditionsOf(options, findings) };
}

async function hold(stage: Stage, { seconds }: LiveOptions, replayedRunId: string): Promise<Held> {
  let residentMbMax = 0;
  const sampler = setInterval(() => {
    void stage.service.residentMb().then((residentMb) => {
      residentMbMax = Math.max(residentMbMax, residentMb);
    });
  }, 1_000);
  try {
    const [window, probes, replays] = await Promise.all([
      watch(stage, seconds * 1_000),
      stage.crowd.ask('probe', {
        runs: Math.ceil(seconds * PROBES_PER_SECOND),
        perSecond: PROBES_PER_SECOND,
        wish: PROBE,
      }),
      stage.crowd.ask('replay', {
        runId: replayedRunId,
        times: Math.ceil(seconds * REPLAYS_PER_SECOND),
        perSecond: REPLAYS_PER_SECOND,
      }),
    ]);
    residentMbMax = Math.max(residentMbMax, await stage.service.residentMb());
    return { window, probes, replays, residentMbMax };
  } finally {
    clearInterval(sampler);
  }
}

/** Doubles the rate until it is not held; or halves it until it is, when not even the first was. */
async function climb(stage: Stage, options: LiveOptions, before: Window): Promise<readonly Step[]> {
  const first = stepOf(options, options.perSecond, before);
  const steps = [first];
  const factor = first.isHeld ? 2 : 0.5;
  let perSecond = options.perSecond;
  for (let count = 0; count < STEPS_MAX && steps.at(-1)?.isHeld === first.isHeld; count += 1) {
    perSecond *= factor;
    await stage.double.ask('setRate', perSecond);
    await pause(STEP_SETTLE_MS);
    const window = await watch(stage, Math.min(options.seconds, STEP_SECONDS) * 1_000);
    steps.push(stepOf(options, perSecond, window));
  }
  return steps;
}

function stepOf({ runs }: LiveOptions, perSecond: number, window: Window): Step {
  const isSent = window.sentPerSecond >= runs * perSecond * SENT_SHARE_MIN;
  return { perSecond, window, isHeld: isSent && window.lag.max < LAG_MAX_MS };
}

async function watch(stage: Stage, forMs: number): Promise<Window> {
  const startedMs = performance.now();
  const usedBefore = await stage.processorTime();
  const sentBefore = await stage.double.ask('tokensSent', null);
  await stage.crowd.ask('lag', null);
  await pause(forMs);
  const lag = await stage.crowd.ask('lag', null);
  const sent = (await stage.double.ask('tokensSent', null)) - sentBefore;
  const used = await stage.processorTime();
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    lag,
    sentPerSecond: sent / seconds,
    cores: {
      service: (used.service - usedBefore.service) / seconds,
      double: (used.double - usedBefore.double) / seconds,
      crowd: (used.crowd - usedBefore.crowd) / seconds,
    },
  };
}

function figuresOf({ runs, perSecond }: LiveOptions, findings: Findings): Figure[] {
  const { ramp, held, steps, residentMbMax, verdict } = findings;
  const { probes, replays, window } = held;
  const ms = (what: string, value: number, target?: number): Figure =>
    figure(what, 'ms', [value], target === undefined ? {} : { target });
  const best = steps.findLast(({ isHeld }) => isHeld);
  return [
    figure('runs with a lost, repeated or reordered event', 'runs', [verdict.flawed], { target: 0 }),
    figure('events looked at, each number of each run', 'events', [verdict.events], { moreIsBetter: true }),
    figure(`resident memory, ${count(runs)} live at ${perSecond}/s each`, 'MB', [held.residentMbMax], {
      target: 1_500,
    }),
    figure('resident memory, highest of all', 'MB', [residentMbMax]),
    ms('accept while they are started, p50', ramp.accept.p50),
    ms('accept while they are started, p99', ramp.accept.p99, 50),
    ms('accept to first event while they are started, p99', ramp.firstEvent.p99, 50),
    ms('accept when all are live, p50', probes.accept.p50),
    ms('accept when all are live, p99', probes.accept.p99, 50),
    ms('accept to first event when all are live, p50', probes.firstEvent.p50),
    ms('accept to first event when all are live, p99', probes.firstEvent.p99, 50),
    ms('model to reader when all are live, p50', window.lag.p50),
    ms('model to reader when all are live, p99', window.lag.p99),
    ms('model to reader when all are live, longest', window.lag.max),
    ms('replay when all are live, first byte p50', replays.firstByte.p50),
    ms('replay when all are live, first byte p99', replays.firstByte.p99, 10),
    ms('replay when all are live, whole p50', replays.whole.p50),
    ms('replay when all are live, whole p99', replays.whole.p99, 40),
    figure('highest rate that was held, all runs together', 'events/s', [(best?.perSecond ?? 0) * runs], {
      moreIsBetter: true,
    }),
    figure('processor time of the service per event, all threads', 'µs', [
      (window.cores.service / window.sentPerSecond) * 1e6,
    ]),
  ];
}

function conditionsOf(
  { runs, readers, seconds, startsPerSecond, perSecond }: LiveOptions,
  { ramp, steps, verdict, replayedEvents, held }: Findings,
): string[] {
  return [
    `${count(runs)} runs, started ${ramp.perSecond.toFixed(0)} a second (${startsPerSecond} were asked for), ${count(readers)} of them with a reader, held for ${seconds} s at ` +
      `${perSecond} events a second each, with ${PROBES_PER_SECOND} further turns and ${REPLAYS_PER_SECOND} replay (of ` +
      `${count(replayedEvents)} events) a second beside them (${held.probes.accept.count} and ${held.replays.whole.count} in all).`,
    ...steps.map(
      ({ perSecond: rate, isHeld, window: { sentPerSecond, lag, cores } }) =>
        `${rate} a second each: ${isHeld ? 'held' : 'not held'}; ${count(Math.round(sentPerSecond))} events/s sent, model to ` +
        `reader p50 ${lag.p50.toFixed(1)}, p99 ${lag.p99.toFixed(0)}, longest ${lag.max.toFixed(0)} ms; cores used: service ` +
        `${cores.service.toFixed(2)}, double ${cores.double.toFixed(2)}, readers ${cores.crowd.toFixed(2)}.`,
    ),
    `All ${count(verdict.runs)} runs were read from their first event to their last: ${count(readers)} live, the others when all ` +
      'had ended.',
    ...verdict.flaws.map((flaw) => `Flawed: ${flaw}`),
  ];
}

function count(number: number): string {
  return number.toLocaleString('en-GB');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
