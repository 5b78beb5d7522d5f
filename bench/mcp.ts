// MCP: what sessions leave behind. Cycles of open, call, crash, call again and close, in a process of its own on a worker
// thread as in the service; then orphans, file descriptors and memory of that process, early and late.
//
// `npm run bench -- mcp [--cycles 1000] [--at-once 2]`

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { CyclesOrder, CyclesReport } from './mcp/cycles-process.ts';
import { type BenchReport, figure } from './report.ts';

const CYCLES_DEFAULT = 1_000;
const AT_ONCE_DEFAULT = 2;
const FLAT_PERCENT = 5;

export async function benchMcp(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: { cycles: { type: 'string' }, 'at-once': { type: 'string' } },
  });
  const cycles = Number(values.cycles ?? CYCLES_DEFAULT);
  const atOnce = Number(values['at-once'] ?? AT_ONCE_DEFAULT);
  const loadBefore = loadavg()[0]?.toFixed(1);
  const report = await inAProcess({ cycles, atOnce });
  const { samples } = report;
  const quarter = Math.floor(samples.length / 4);
  // The first quarter warms up: code is compiled, pools and caches are filled.
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const growth = (of: (sample: (typeof samples)[number]) => number): number => {
    const mean = (part: typeof samples) => part.reduce((sum, one) => sum + of(one), 0) / part.length;
    return (mean(late) / mean(early) - 1) * 100;
  };
  const flat = { target: FLAT_PERCENT };
  return {
    figures: [
      figure('cycles', 'count', [cycles]),
      figure('orphans', 'processes', [report.orphans], { target: 0 }),
      figure('defunct children of the service', 'processes', [report.defunct], { target: 0 }),
      figure(
        'file descriptors, last quarter over second',
        '%',
        [growth(({ descriptors }) => descriptors)],
        flat,
      ),
      figure(
        'resident memory, last quarter over second',
        '%',
        [growth(({ residentBytes }) => residentBytes)],
        flat,
      ),
      figure(
        'heaps of both threads, last quarter over second',
        '%',
        [growth(({ heapBytes }) => heapBytes)],
        flat,
      ),
      figure(
        'file descriptors',
        'count',
        samples.map(({ descriptors }) => descriptors),
      ),
      figure(
        'resident memory',
        'MB',
        samples.map(({ residentBytes }) => residentBytes / 2 ** 20),
      ),
      figure('a cycle', 'ms', report.cycleMs),
    ],
    conditions: [
      `${cycles} cycles, ${atOnce} at once; a third each crashed by kill -9 of the server, by the server itself in a call, and ` +
        'by a failure of the session. Each server is a shell script with a child; each twentieth is the reference server, which is ' +
        'closed without a crash.',
      `Sampled ${samples.length} times, after a garbage collection of both threads.`,
      `Load of the machine: ${loadBefore} before, ${loadavg()[0]?.toFixed(1)} after.`,
    ],
    notMeasured: [
      'servers over HTTP, and sign-ins',
      'kill -9 of the service and a lost thread: tests see to that (test/actors/mcp-sessions, test/crash)',
      'processes that leave their process group (setsid)',
      'how long servers take that do not end when they are asked to',
      'the rest of the service: directory, routes, turns',
    ],
    isKept: cycles >= CYCLES_DEFAULT,
  };
}

async function inAProcess(order: CyclesOrder): Promise<CyclesReport> {
  const child = fork(new URL('./mcp/cycles-process.ts', import.meta.url), [JSON.stringify(order)], {
    execArgv: ['--expose-gc'],
  });
  const exited = once(child, 'exit');
  const answered = once(child, 'message') as Promise<[CyclesReport]>;
  const report = await Promise.race([answered.then(([message]) => message), exited.then(() => null)]);
  await exited;
  if (report === null) throw new Error('the cycles did not come to their end');
  return report;
}
