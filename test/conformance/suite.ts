// Suite: the official conformance package, run against a Troupe of our own: its client scenarios through `client.ts`, its
// server scenarios against `/mcp`. `await using suite = await openSuite()`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { obedient } from '../support/obedient-model.ts';
import { openTroupe } from '../support/troupe.ts';

const PACKAGE = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const CLI = join(dirname(PACKAGE), 'dist/index.js');
const CLIENT = fileURLToPath(new URL('client.ts', import.meta.url));
const SCENARIO_MAX_MS = 60_000;

export interface Verdict {
  readonly passed: number;
  /** Failures and warnings, in the words of the package. */
  readonly complaints: readonly string[];
  /** False also where the client itself failed and the scenario does not allow for it. */
  readonly isGood: boolean;
  /** All that was said, to look into. */
  readonly output: string;
}

export interface Suite extends AsyncDisposable {
  client(scenario: string): Promise<Verdict>;
  server(scenario: string): Promise<Verdict>;
}

interface Check {
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  readonly description: string;
  readonly errorMessage?: string;
}

export async function openSuite(): Promise<Suite> {
  const troupe = await openTroupe({ script: obedient });
  await troupe.configure({ mcp: { server: { enabled: true }, elicitation: 'accept_defaults' } });
  const run = async (words: readonly string[]): Promise<Verdict> => {
    const child = spawn(process.execPath, [CLI, ...words, '--verbose'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TROUPE_URL: troupe.url },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, 'close');
    return verdictOf(code === 0, stdout, stderr);
  };
  return {
    client: (scenario) =>
      run([
        ...['client', '--command', `${process.execPath} ${CLIENT}`],
        ...['--scenario', scenario, '--timeout', String(SCENARIO_MAX_MS)],
      ]),
    server: (scenario) => run(['server', '--url', `${troupe.url}/mcp`, '--scenario', scenario]),
    [Symbol.asyncDispose]: () => troupe.close(),
  };
}

function verdictOf(isGood: boolean, stdout: string, stderr: string): Verdict {
  const checks = checksIn(stdout);
  const complaints = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ name, description, errorMessage }) => `${name}: ${errorMessage ?? description}`);
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  return { passed, complaints, isGood: isGood && complaints.length === 0, output: stdout + stderr };
}

/** The list stands between lines for people. */
function checksIn(stdout: string): readonly Check[] {
  const from = stdout.indexOf('\n[') + 1;
  const to = stdout.lastIndexOf('\n]') + 2;
  const text = stdout.startsWith('[') ? stdout.slice(0, to) : stdout.slice(from, to);
  try {
    return JSON.parse(text) as readonly Check[];
  } catch {
    return [];
  }
}
