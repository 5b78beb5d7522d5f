// One test file a process: tests start worker threads, native modules, servers and child processes, and a crash must stay
// with its file.

import { defineConfig } from 'vitest/config';
import { useCompileCache } from './scripts/compile-cache.cjs';

// The processes of the test files inherit it.
useCompileCache();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    // The machines that run this have two cores; more processes would only make timings less steady.
    maxWorkers: 2,
    // What a test waits for comes when it comes: a busy machine is no failure. These end only what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    globalSetup: ['test/support/left-behind.ts'],
    // It says at each start that it is set up for tests.
    onConsoleLog: (line) => !line.startsWith('oidc-provider '),
    // In CI the last result also goes to a file, from which .ci/run takes its closing line.
    reporters: process.env.CI ? ['default', ['json', { outputFile: '.vitest/results.json' }]] : ['default'],
  },
});
