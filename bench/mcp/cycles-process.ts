// CyclesProcess: runs the cycles and watches its own process while it does. Its order is its argument, its report a message.

import { readdirSync, readFileSync } from 'node:fs';
import { actor } from '../../src/supervisor/actor.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { runCycle } from '../../test/support/mcp-cycles.ts';
import { createMcpSessions } from '../../test/support/mcp-session-system.ts';

export interface CyclesOrder {
  readonly cycles: number;
  readonly atOnce: number;
}

export interface CyclesReport {
  readonly orphans: number;
  readonly defunct: number;
  readonly cycleMs: readonly number[];
  readonly samples: readonly {
    readonly descriptors: number;
    readonly residentBytes: number;
    readonly heapBytes: number;
  }[];
}

const SAMPLES = 40;
/** On a machine that is busy with other things. */
const PATIENCE_MS = 120_000;

const collectorProtocol = protocol('collector', { collect: call<object, number>() });

/** Collects the garbage of the thread that it lives on. */
export const collectorActor = actor({
  module: import.meta.url,
  exportName: 'collectorActor',
  protocol: collectorProtocol,
  setup: () => ({ collect: () => collectedBytes() }),
});

function collectedBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

if (import.meta.main) {
  const order = JSON.parse(process.argv[2] ?? '') as CyclesOrder;
  const report = await run(order);
  process.send?.(report, () => process.exit());
}

async function run({ cycles, atOnce }: CyclesOrder): Promise<CyclesReport> {
  const sessions = await createMcpSessions({ onThread: true });
  const collector = sessions.system.spawn(collectorActor, undefined, {
    id: 'collector',
    placement: { thread: 'mcp' },
  });
  const samples: CyclesReport['samples'][number][] = [];
  const cycleMs: number[] = [];
  let orphans = 0;
  let next = 0;
  const each = Math.ceil(cycles / SAMPLES);
  const runner = async (until: number): Promise<void> => {
    while (next < until) {
      const index = next;
      next += 1;
      const beganMs = performance.now();
      const { left } = await runCycle(sessions, index);
      cycleMs.push(performance.now() - beganMs);
      orphans += left.length;
    }
  };
  while (next < cycles) {
    const until = Math.min(cycles, next + each);
    await Promise.all(Array.from({ length: atOnce }, () => runner(until)));
    const heapBytes = (await collector.ask('collect', {}, { deadlineMs: PATIENCE_MS })) + collectedBytes();
    samples.push({
      descriptors: readdirSync('/proc/self/fd').length,
      residentBytes: process.memoryUsage.rss(),
      heapBytes,
    });
    console.error(`${next} cycles, ${samples.at(-1)?.descriptors} descriptors`);
  }
  const defunct = defunctChildren();
  await sessions.close();
  return { orphans, defunct, cycleMs, samples };
}

/** Dead children that nobody has waited for. */
function defunctChildren(): number {
  return readdirSync('/proc').filter((id) => {
    try {
      const stat = readFileSync(`/proc/${Number(id)}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z' && Number(parent) === process.pid;
    } catch {
      return false;
    }
  }).length;
}
