// The door to sessions with MCP servers: all of it ends with the test.

import { onTestFinished } from 'vitest';
import { createMcpSessions, type McpSessions } from './mcp-session-system.ts';

export { livingInGroup, remoteServer, stdioServer } from './mcp-session-system.ts';

export async function openMcpSessions(options: { readonly onThread?: boolean } = {}): Promise<McpSessions> {
  const sessions = await createMcpSessions(options);
  onTestFinished(() => sessions.close());
  return sessions;
}
