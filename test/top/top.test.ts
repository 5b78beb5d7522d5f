// Top as a process: once without a terminal, and in one where `script` is there to make it.

import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { openTroupe } from '../support/troupe.ts';

const MAIN = fileURLToPath(new URL('../../src/top/main.ts', import.meta.url));

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end; `steer` sees what it has written so far. */
async function run(
  command: string,
  args: readonly string[],
  steer: (stdout: string, type: (keys: string) => void) => void = () => undefined,
): Promise<Outcome> {
  const child = spawn(command, args, { stdio: 'pipe', env: { ...process.env, TERM: 'xterm' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    steer(stdout, (keys) => child.stdin.write(keys));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

const top = (...args: readonly string[]): Promise<Outcome> => run(process.execPath, [MAIN, ...args]);

test('without a terminal it prints what is there once, as plain text', async () => {
  const { code, stdout, stderr } = await top(app.url);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^actors \d+ {3}queued \d+ {3}sent \d+ {3}handled \d+\n/);
  expect(stdout).toMatch(/\n +0 edge +ready/);
  expect(stdout).toMatch(/\nchat\/run-hosts\/run-1 +1 running/);
  expect(stdout).not.toContain('\u001b');
});

test('where nothing listens, it says so and what to do', async () => {
  const { code, stdout, stderr } = await top(`http://127.0.0.1:${await freePort()}`);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^troupe top: nothing can be reached at .*ECONNREFUSED.*npm start\n$/);
});

test('what is no Troupe is told from one', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end('no')).listen(
    0,
    '127.0.0.1',
  );
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { code, stderr } = await top(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect([code, stderr]).toEqual([1, expect.stringContaining('it is no Troupe, or an older one')]);
});

test('arguments that it does not understand are answered with its usage', async () => {
  for (const args of [['localhost:80'], ['--help'], [app.url, 'more']]) {
    const { code, stderr } = await top(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining('usage: npm run top [URL]')]);
  }
});

/** From util-linux: runs a command in a terminal of its own. */
const TERMINAL_MAKER = 'script';
const hasScript = spawnSync(TERMINAL_MAKER, ['--version']).stdout?.toString().includes('util-linux') === true;

test.runIf(hasScript)('in a terminal it draws until q, and leaves the terminal as it was', async () => {
  let typed = false;
  const command = `stty rows 60 cols 80; ${process.execPath} ${MAIN} ${app.url}; echo "code $?"; stty -a`;
  const { stdout } = await run(TERMINAL_MAKER, ['-qfec', command, '/dev/null'], (drawn, type) => {
    if (typed || !/sent \d+ \(\d+\/s\)/.test(drawn)) return;
    typed = true;
    type('q');
  });
  expect(stdout).toContain('\u001b[?1049h\u001b[?25l');
  expect(stdout).toContain('chat/run-hosts/run-1');
  expect(stdout.slice(stdout.lastIndexOf('\u001b[?25h\u001b[?1049l'))).toMatch(/code 0[\s\S]* echo /);
});
