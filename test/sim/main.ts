// Main: `npm run sim -- --seeds 10000 [--from N]`, or `--seed S [--deeds D]` for one seed, or its first deeds, and the whole
// trace; with `--pools`, of routers and residents. Ends with 1 when a seed failed.

import { parseArgs } from 'node:util';
import { runPoolSeed } from './pool-scenario.ts';
import { DEEDS_MAX, runSeed } from './scenario.ts';

const PROGRESS_EVERY = 100;
const TRACE_TAIL = 40;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    pools: { type: 'boolean', default: false },
    deeds: { type: 'string', default: String(DEEDS_MAX) },
  },
});

const play = values.pools ? runPoolSeed : runSeed;

process.exitCode =
  values.seed === undefined ? await runMany() : await runOne(Number(values.seed), Number(values.deeds));

async function runOne(seed: number, deeds: number): Promise<number> {
  const { trace, failure, steps } = await play(seed, deeds);
  process.stdout.write(`${trace.join('\n')}\n`);
  process.stdout.write(`seed ${seed}: ${steps} steps, ${failure?.message ?? 'passed'}\n`);
  return failure === null ? 0 : 1;
}

/** The shortest beginning of the scenario that fails, if not in the same way. */
async function fewestDeeds(seed: number): Promise<number> {
  for (let deeds = 1; deeds < DEEDS_MAX; deeds += 1) {
    if ((await play(seed, deeds)).failure !== null) return deeds;
  }
  return DEEDS_MAX;
}

/** The last lines up to the first thing that was wrong. */
function whatLedToIt(trace: readonly string[]): readonly string[] {
  const wrong = trace.findIndex((line) => line.includes('VIOLATION'));
  const end = wrong < 0 ? trace.length : wrong + 1;
  return trace.slice(Math.max(0, end - TRACE_TAIL), end);
}

async function runMany(): Promise<number> {
  const from = Number(values.from);
  const count = Number(values.seeds);
  const startedMs = performance.now();
  let steps = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    const report = await play(seed);
    steps += report.steps;
    if (report.failure !== null) {
      process.stdout.write(`${whatLedToIt(report.trace).join('\n')}\n`);
      process.stdout.write(`seed ${seed} failed: ${report.failure.message}\n`);
      const deeds = await fewestDeeds(seed);
      process.stdout.write(
        `replay it with: npm run sim -- ${values.pools ? '--pools ' : ''}--seed ${seed}, or its beginning: --deeds ${deeds}\n`,
      );
      return 1;
    }
    if ((seed - from + 1) % PROGRESS_EVERY === 0) say(seed - from + 1);
  }
  if (count % PROGRESS_EVERY !== 0) say(count);
  return 0;

  function say(done: number): void {
    const elapsedMs = performance.now() - startedMs;
    process.stdout.write(
      `${done} of ${count} seeds, ${steps} steps, ${(elapsedMs / done).toFixed(1)} ms a seed\n`,
    );
  }
}
