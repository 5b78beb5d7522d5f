// A process with sessions on a worker thread, as the service has them, to be killed: says the process groups of its servers.

import { createMcpSessions, stdioServer } from './mcp-session-system.ts';

const sessions = await createMcpSessions({ onThread: true });
const opened = [
  sessions.open(stdioServer(['--grandchild'])),
  sessions.open(stdioServer(['--grandchild', '--stubborn'])),
];
const groups = await Promise.all(opened.map(async (session) => JSON.parse(await session.text('pid')).pid));
const left = sessions.open(stdioServer(['--runaway']));
groups.push(JSON.parse(await left.text('pid')).runaway);
process.stdout.write(`${JSON.stringify(groups)}\n`);
