// Whatever ends a session, its server and all that this has started end with it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MCP_THREAD } from '../../../src/actors/mcp-sessions/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { livingInGroup, openMcpSessions, stdioServer } from '../../support/mcp-sessions.ts';
import { victimActor } from '../../support/victim-actor.ts';

const PROCESS = fileURLToPath(new URL('../../support/mcp-session-process.ts', import.meta.url));

test('kill -9 of the process leaves nothing of its servers: no stubborn one, no child, no runaway', {
  timeout: 60_000,
}, async () => {
  const child = spawn(process.execPath, [PROCESS], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const groups: number[] = JSON.parse(String(line));
  const [one = 0, another = 0, runaway = 0] = groups.map((group) => livingInGroup(group).length);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(Math.min(one, another)).toBeGreaterThanOrEqual(3); // Server, child, watcher.
  expect(runaway).toBeGreaterThanOrEqual(1);
  await eventually(() => groups.flatMap(livingInGroup)).toEqual([]);
});

test('a lost thread leaves nothing of its servers either, and its sessions connect again on the next', async () => {
  const sessions = await openMcpSessions({ onThread: true });
  const session = sessions.open(stdioServer(['--grandchild', '--stubborn']));
  const { pid } = JSON.parse(await session.text('pid'));
  const victim = sessions.system.spawn(
    victimActor,
    {},
    {
      id: 'victim',
      restart: 'temporary',
      placement: { thread: MCP_THREAD },
    },
  );
  victim.tell('die', 'exit(1)');
  await eventually(() => livingInGroup(pid)).toEqual([]);
  await eventually(() => session.text('echo', { message: 'back' }).catch(() => null)).toBe('back');
});

test('a server that has ended leaves nothing that it has started', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(stdioServer(['--grandchild'], { auto_reconnect: false }));
  const { pid } = JSON.parse(await session.text('pid'));
  await session.call({ tool: 'last-words' });
  await eventually(() => livingInGroup(pid)).toEqual([]);
});

test('what has left the process group of its server ends with it too, and nobody else does', async () => {
  const sessions = await openMcpSessions();
  const [ended, other] = [
    sessions.open(stdioServer(['--runaway'])),
    sessions.open(stdioServer(['--runaway'])),
  ];
  const { runaway } = JSON.parse(await ended.text('pid'));
  const { runaway: staying } = JSON.parse(await other.text('pid'));
  expect(livingInGroup(runaway)).not.toEqual([]);
  await ended.call({ tool: 'last-words' });
  await eventually(() => livingInGroup(runaway)).toEqual([]);
  expect(livingInGroup(staying)).not.toEqual([]);
});

// A ping is waited for ten seconds.
test('a server that stops answering is noticed, ended and started anew', { timeout: 90_000 }, async () => {
  const sessions = await openMcpSessions();
  await sessions.configure({ mcp: { ping_seconds: 1 } });
  const session = sessions.open();
  const { pid } = JSON.parse(await session.text('pid'));
  process.kill(pid, 'SIGSTOP');
  await eventually(() => session.heard.states.map(({ kind }) => kind)).toContain('reconnecting');
  await eventually(() => livingInGroup(pid)).toEqual([]);
  expect(await session.text('echo', { message: 'anew' })).toBe('anew');
});
