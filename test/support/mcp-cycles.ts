// Cycles of a session with a stdio server that has a child of its own: opened, called, crashed in one of several ways, called
// again, closed. For the bench, and in small for the tests.

import { fileURLToPath } from 'node:url';
import { EVERYTHING } from './mcp-everything-path.ts';
import { livingInGroup, type McpSessions, type TestSession } from './mcp-session-system.ts';

const SHELL_SERVER = fileURLToPath(new URL('./mcp-shell-server.sh', import.meta.url));
/** Every so many cycles the reference server takes the place of the small one. */
const EVERYTHING_EACH = 20;
const DYING_MS_MAX = 10_000;

export interface CycleOutcome {
  /** Of the processes that it started, those that still run. */
  readonly left: readonly number[];
}

export async function runCycle(sessions: McpSessions, index: number): Promise<CycleOutcome> {
  if (index % EVERYTHING_EACH === 1) return everythingCycle(sessions, index);
  const groups: number[] = [];
  const session = sessions.open({ command: '/bin/sh', args: [SHELL_SERVER], name: `cycle-${index}` });
  groups.push(await groupOf(session));
  await crash(session, groups[0] as number, index);
  groups.push(await again(() => groupOf(session)));
  await session.stop();
  return { left: await leftOf(groups) };
}

/** A process that was killed takes a moment to die, and so does the former life of a session that crashed. */
async function leftOf(groups: readonly number[]): Promise<readonly number[]> {
  const giveUpAtMs = Date.now() + DYING_MS_MAX;
  for (;;) {
    const left = groups.flatMap(livingInGroup);
    if (left.length === 0 || Date.now() > giveUpAtMs) return left;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function everythingCycle(sessions: McpSessions, index: number): Promise<CycleOutcome> {
  const server = { transport: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'] } as const;
  const session = sessions.open({ ...server, name: `cycle-${index}` });
  const said = await session.text('echo', { message: 'hello' });
  if (said !== 'Echo: hello') throw new Error(`it said ${said}`);
  await session.stop();
  return { left: [] };
}

async function groupOf(session: TestSession): Promise<number> {
  return JSON.parse(await session.text('pid')).pid;
}

/** By kill -9 of the server, by the server itself in a call, and by a failure of the session's own actor. */
async function crash(session: TestSession, group: number, index: number): Promise<void> {
  switch (index % 3) {
    case 0:
      process.kill(group, 'SIGKILL');
      break;
    case 1:
      await session.call({ tool: 'crash' }).catch(() => undefined);
      break;
    default:
      await session.ask('readResource', null as never).catch(() => undefined);
  }
}

/** A call that comes while the connection breaks fails, and says that it was interrupted. */
async function again<T>(act: () => Promise<T>): Promise<T> {
  const ATTEMPTS_MAX = 5;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
