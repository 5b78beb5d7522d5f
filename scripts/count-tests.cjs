// Prints `N passed, N failed` from vitest's JSON record of a run. A test file that could not be loaded is one failure.
// Fails when anything failed, when no test ran, and when there is no record.

'use strict';

const { readFileSync } = require('node:fs');

const { passed, failed } = count(process.argv[2]);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function count(file) {
  let record;
  try {
    record = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    process.stdout.write(`The test run left no record: ${error.message}\n`);
    return { passed: 0, failed: 0 };
  }
  const brokenFiles = record.testResults.filter(
    (one) => one.status === 'failed' && one.assertionResults.every((test) => test.status !== 'failed'),
  );
  for (const { name } of brokenFiles)
    process.stdout.write(`This test file failed outside of its tests: ${name}\n`);
  return { passed: record.numPassedTests, failed: record.numFailedTests + brokenFiles.length };
}
