// The bench in small (`npm run bench -- mcp`).

import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { runCycle } from '../../support/mcp-cycles.ts';
import { openMcpSessions } from '../../support/mcp-sessions.ts';

const CYCLES = 20;
const descriptors = () => readdirSync('/proc/self/fd').length;

test('sessions that come, crash and go leave no process and no file descriptor', async () => {
  const sessions = await openMcpSessions();
  await runCycle(sessions, 0); // What is opened once is open from here on.
  const before = descriptors();
  for (let index = 1; index < CYCLES; index += 1) {
    expect(await runCycle(sessions, index)).toEqual({ left: [] });
  }
  await eventually(descriptors).toBeLessThanOrEqual(before);
});
