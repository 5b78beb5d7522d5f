// Main: `npm run crash -- --moments 1000 [--seed N]`: kills the service at that many moments, decided by the seed, and says
// what came of it. Ends with 1 at the first flaw; after an interrupt it finishes its epoch first. Leaves no process and no
// folder behind.

import { parseArgs } from 'node:util';
import { startProviderDoubleProcess } from '../support/provider-double-process.ts';
import { CRASH_SCRIPT, type EpochReport, runEpoch } from './epoch.ts';

/** Each epoch has a folder of its own, and a seed: this one's plus its number. */
const KILLS_PER_EPOCH = 10;

const { values } = parseArgs({
  options: {
    moments: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const moments = Number(values.moments);
const seed = Number(values.seed);

let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isInterrupted = true;
  });
}

const double = await startProviderDoubleProcess({ script: CRASH_SCRIPT });
process.stdout.write(`${moments} moments, seed ${seed}\n`);
const startedMs = performance.now();
const total = { kills: 0, events: 0, fates: { done: 0, failed: 0, cancelled: 0, resumed: 0, unseen: 0 } };
let flaws: readonly string[] = [];
for (let epoch = 0; total.kills < moments && flaws.length === 0 && !isInterrupted; epoch += 1) {
  const kills = Math.min(KILLS_PER_EPOCH, moments - total.kills);
  const report = await runEpoch({ seed: seed + epoch, kills, providerUrl: double.baseUrl });
  add(report);
  process.stdout.write(`${summary()}\n`);
  flaws = report.flaws;
  if (flaws.length > 0) {
    process.stdout.write(`${flaws.join('\n')}\n`);
    process.stdout.write(`again with: npm run crash -- --moments ${kills} --seed ${seed + epoch}\n`);
  }
}
await double.stop();
process.exitCode = flaws.length > 0 || isInterrupted ? 1 : 0;

function add({ kills, events, fates }: EpochReport): void {
  total.kills += kills;
  total.events += events;
  for (const fate of Object.keys(total.fates) as (keyof EpochReport['fates'])[])
    total.fates[fate] += fates[fate];
}

function summary(): string {
  const { done, failed, cancelled, resumed, unseen } = total.fates;
  const seconds = (performance.now() - startedMs) / 1000;
  return (
    `${total.kills} kills, ${(seconds / total.kills).toFixed(1)} s each: ${done + failed + cancelled} runs accepted ` +
    `(${done} done, ${failed} settled as failed, ${cancelled} cancelled; ${resumed} were resumed), ` +
    `${unseen} of unknown fate, ${total.events} events, ${flaws.length} flaws`
  );
}
