// Main: `npm run conformance [-- scenario …]`: every scenario of the official package that concerns us, or those that are named,
// and what came of it. Ends with 1 when one does not do what `scenarios.ts` expects of it.

import { CLIENT_SCENARIOS, type Scenario, SERVER_SCENARIOS } from './scenarios.ts';
import { openSuite, type Suite, type Verdict } from './suite.ts';

const named = new Set(process.argv.slice(2));
const isWanted = ({ name }: Scenario): boolean => named.size === 0 || named.has(name);
const tally = { passed: 0, knownGaps: 0, surprises: 0 };

{
  await using suite = await openSuite();
  await runAll('client', CLIENT_SCENARIOS, suite);
  await runAll('server', SERVER_SCENARIOS, suite);
}
const { passed, knownGaps, surprises } = tally;
process.stdout.write(`${passed} pass, ${knownGaps} are known not to, ${surprises} surprise\n`);
process.exitCode = surprises === 0 ? 0 : 1;

async function runAll(
  side: 'client' | 'server',
  scenarios: readonly Scenario[],
  suite: Suite,
): Promise<void> {
  for (const scenario of scenarios.filter(isWanted)) {
    const verdict = await suite[side](scenario.name);
    tell(side, scenario, verdict);
  }
}

function tell(
  side: string,
  { name, because }: Scenario,
  { isGood, passed, complaints, output }: Verdict,
): void {
  const isSurprise = isGood !== (because === undefined);
  const mark = isGood ? 'pass' : 'FAIL';
  process.stdout.write(`${mark}  ${side}  ${name} (${passed} checks)${isGood ? '' : `  ${because ?? ''}`}\n`);
  for (const complaint of complaints) process.stdout.write(`        ${complaint}\n`);
  if (isSurprise && named.size > 0) process.stdout.write(`${output}\n`);
  if (isSurprise) tally.surprises += 1;
  else if (isGood) tally.passed += 1;
  else tally.knownGaps += 1;
}
