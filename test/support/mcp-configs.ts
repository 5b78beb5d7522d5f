// Configurations of MCP servers as clients send them: the test's own server and the reference server, each as a process.

import { EVERYTHING } from './mcp-everything.ts';
import { stdioServer } from './mcp-sessions.ts';
import type { ServiceClient } from './troupe.ts';

/** So that a process that is left behind is found at the end of the run. */
const { TROUPE_TEST_RUN } = process.env;
const MARK = TROUPE_TEST_RUN === undefined ? {} : { TROUPE_TEST_RUN };

/** What a configuration is that says nothing. */
export const UNSAID = {
  transport: 'stdio',
  command: null,
  args: [],
  env: {},
  url: null,
  headers: {},
  timeout: 30,
  auto_reconnect: true,
  auto_connect: false,
  tags: [],
  groups: [],
  allowed_agent_ids: null,
  allowed_tools: null,
  blocked_tools: [],
  auth: null,
};

export function ownServer(flags: readonly string[] = [], more: object = {}): object {
  return { ...stdioServer(flags), env: MARK, ...more };
}

/** The reference server of the protocol, which we did not write. */
export function everythingServer(): object {
  return { command: process.execPath, args: [EVERYTHING, 'stdio'], env: MARK };
}

/** Adds a server and connects it. @throws when it is not connected then */
export async function connectServer(
  app: ServiceClient,
  name: string,
  config: object = ownServer(),
): Promise<void> {
  const added = await app.call('POST', '/api/mcp/servers', { name, config });
  if (added.status !== 201) throw new Error(`not added: ${JSON.stringify(added.body)}`);
  const connected = await app.call('POST', '/api/mcp/connect', { server: name });
  if (connected.status !== 200) throw new Error(`not connected: ${JSON.stringify(connected.body)}`);
}
