// Journal: what it costs to append to journals, to read them, and to keep them (ADR 10), beside the layout of before: a record for each
// append in a tree keyed by journal.
//
// `npm run bench -- journal [--rounds 5] [--quick] [--only appending,reading,keeping]`
//
// Read the processor time beside the rate: when the machine has other things to do, the rate is theirs, too. What a commit costs
// is mostly the promise, the encoding and the copy of each append; the engine's share is small since it writes a page instead
// of a thousand records.

import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { measureAppending } from './journal/appending.ts';
import { measureKeeping } from './journal/keeping.ts';
import { measureReading } from './journal/reading.ts';
import type { BenchReport, Figure } from './report.ts';

const ROUNDS_DEFAULT = 5;
const FULL = { events: 200_000, eventsEach: 120 };
const QUICK = { events: 20_000, eventsEach: 5 };

export async function benchJournal(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: 'appending,reading,keeping' },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : ROUNDS_DEFAULT));
  const { events, eventsEach } = values.quick ? QUICK : FULL;
  const parts: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
    appending: () => measureAppending(rounds, events),
    reading: () => measureReading(rounds),
    keeping: () => measureKeeping(Math.min(rounds, 3), eventsEach),
  };
  const loadBefore = load();
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (!values.only.split(',').includes(name)) continue;
    console.error(`Measuring ${name} …`);
    figures.push(...(await measure()));
  }
  return {
    figures,
    conditions: [
      `${rounds} rounds; events of about 100 bytes; reading goes on while 20,000 events a second are written to 1,000 journals.`,
      `Load of the machine (1, 5, 15 minutes): ${loadBefore} before, ${load()} after.`,
    ],
    notMeasured: [
      'a disk whose flush takes milliseconds',
      'stores larger than memory',
      'more than two writing threads',
      'the reading of the layout of before',
    ],
    isKept: !values.quick && values.only.split(',').length === Object.keys(parts).length,
  };
}

function load(): string {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(', ');
}
