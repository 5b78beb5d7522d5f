// kill -9 at random moments, in small: `npm run crash` does the same a thousand times.

import { beforeAll, expect, test } from 'vitest';
import {
  type ProviderDoubleProcess,
  startProviderDoubleProcess,
} from '../support/provider-double-process.ts';
import { CRASH_SCRIPT, runEpoch } from './epoch.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const KILLS = 8;

let double: ProviderDoubleProcess;
beforeAll(async () => {
  double = await startProviderDoubleProcess({ script: CRASH_SCRIPT });
  return () => double.stop();
});

test(`a service that is killed again and again loses nothing, and goes on where it can (TEST_SEED=${seed})`, {
  timeout: 300_000,
}, async () => {
  console.log(`kill.test.ts: TEST_SEED=${seed}`);
  const { flaws, ...report } = await runEpoch({ seed, kills: KILLS, providerUrl: double.baseUrl });
  console.log(`kill.test.ts: ${JSON.stringify(report)}`);
  expect(flaws).toEqual([]);
  // Else the moments were badly chosen, and little was tested.
  expect(report.fates.failed + report.fates.resumed).toBeGreaterThan(0);
});
