// Load: what Troupe holds when ten thousand runs live at once, and that nothing is lost of any of them. The service, the model
// double and those who start and read runs are processes of their own (load/stage.ts); they share the machine.
//
// `npm run bench -- load [--runs 10000] [--readers 5000] [--seconds 60] [--starts 150] [--rate 2] [--only idle,live]`

import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureIdle } from './load/idle.ts';
import { type LiveOptions, measureLive } from './load/live.ts';
import { assertDescriptors, openStage } from './load/stage.ts';
import type { BenchReport, Figure } from './report.ts';

const PARTS: readonly string[] = ['idle', 'live'];
const FULL: LiveOptions = { runs: 10_000, readers: 5_000, seconds: 60, perSecond: 2, startsPerSecond: 150 };
/** Beyond what the largest run takes: something is stuck. */
const MINUTES_MAX = 15;

export async function benchLoad(args: readonly string[]): Promise<BenchReport> {
  const { parts, live, nodeOptions } = optionsOf(args);
  await assertDescriptors(live.runs, live.readers);
  const loadBefore = load();
  const figures: Figure[] = [];
  const conditions: string[] = [];
  const stuck = setTimeout(() => {
    console.error(`The bench did not end within ${MINUTES_MAX} minutes`);
    process.exit(1);
  }, MINUTES_MAX * 60_000);
  const stage = await openStage(live.runs, nodeOptions);
  try {
    if (parts.includes('idle')) figures.push(...(await measureIdle(stage)));
    if (parts.includes('live')) {
      const measured = await measureLive(stage, live);
      figures.push(...measured.figures);
      conditions.push(...measured.conditions);
    }
  } finally {
    await stage.close();
    clearTimeout(stuck);
  }
  return {
    figures,
    conditions: [
      ...conditions,
      ...missesOf(figures),
      `Load of the machine (1, 5, 15 minutes): ${loadBefore} before, ${load()} after. The service, the double and the readers ` +
        'share its cores, and latencies are those of the readers: their own share is in them.',
    ],
    notMeasured: [
      'a real model or network',
      'tools, long histories and long messages: each run is a first turn with a short question',
      'readers on other machines, and TLS',
      'kill -9 (`npm run crash`) and the append by itself (`npm run bench -- journal`)',
    ],
    isKept: parts.length === PARTS.length && live.runs >= FULL.runs && live.seconds >= FULL.seconds,
  };
}

/** What bounds what is missed: the profile of this measurement (ADR 9). */
const BOUND =
  'The bound is the two cores, which the service shares with the double and the readers: V8 stops each thread for 15 to 40 ms when it ' +
  'collects, young generations twice a second, and the edge thread needs one system call for each event of each reader.';

function missesOf(figures: readonly Figure[]): readonly string[] {
  const misses = figures.flatMap(({ what, unit, median, target }) =>
    target === undefined || median <= target
      ? []
      : [`${what}: ${median.toFixed(0)} ${unit} instead of ${target}`],
  );
  return misses.length === 0 ? [] : [`Missed: ${misses.join('; ')}. ${BOUND}`];
}

function optionsOf(args: readonly string[]): {
  readonly parts: readonly string[];
  readonly live: LiveOptions;
  readonly nodeOptions: readonly string[];
} {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: String(FULL.runs) },
      readers: { type: 'string' },
      seconds: { type: 'string', default: String(FULL.seconds) },
      starts: { type: 'string', default: String(FULL.startsPerSecond) },
      rate: { type: 'string', default: String(FULL.perSecond) },
      only: { type: 'string', default: PARTS.join(',') },
      'node-options': { type: 'string', default: '' },
    },
  });
  const runs = positive('--runs', values.runs);
  const parts = values.only.split(',');
  const unknown = parts.filter((part) => !PARTS.includes(part));
  if (unknown.length > 0) throw new Error(`--only knows ${PARTS.join(', ')}; not ${unknown.join(', ')}`);
  return {
    parts,
    live: {
      runs,
      readers: values.readers === undefined ? Math.ceil(runs / 2) : positive('--readers', values.readers),
      seconds: positive('--seconds', values.seconds),
      perSecond: positive('--rate', values.rate),
      startsPerSecond: positive('--starts', values.starts),
    },
    nodeOptions: values['node-options'].split(' ').filter((option) => option !== ''),
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`${name} takes a number above 0`);
  return number;
}

function load(): string {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(', ');
}
