// Routes of MCP servers, and of what a prompt may tell of their tools.

import { mcp, TIMEOUT_SECONDS_MAX } from '../../actors/mcp/protocol.ts';
import { bind } from '../route.ts';

/** It waits for servers, each of which has its own patience: longer than an ordinary ask. */
const FOR_SERVERS = { deadlineMs: (TIMEOUT_SECONDS_MAX + 60) * 1000 };
/** A live connection is ended first, with its process. */
const FOR_AN_END = { deadlineMs: 20_000 };

export const mcpRoutes = [
  bind('GET', '/api/mcp/servers', mcp, 'servers'),
  bind('POST', '/api/mcp/servers', mcp, 'add', { status: 201 }),
  bind('POST', '/api/mcp/servers/validate', mcp, 'validate'),
  bind('GET', '/api/mcp/servers/{name}', mcp, 'server'),
  bind('PUT', '/api/mcp/servers/{name}', mcp, 'replace', FOR_AN_END),
  bind('DELETE', '/api/mcp/servers/{name}', mcp, 'remove', FOR_AN_END),
  bind('POST', '/api/mcp/servers/{name}/auth/reset', mcp, 'resetAuth', FOR_AN_END),
  bind('POST', '/api/mcp/servers/{name}/auth/cancel', mcp, 'cancelAuth'),
  bind('POST', '/api/mcp/connect', mcp, 'connect', {
    ...FOR_SERVERS,
    isPending: ({ status }) => status === 'auth_required',
  }),
  bind('POST', '/api/mcp/disconnect', mcp, 'disconnect', FOR_SERVERS),
  bind('GET', '/api/mcp/tools', mcp, 'tools'),
  bind('GET', '/api/mcp/resources', mcp, 'resources'),
  bind('GET', '/api/mcp/registry/search', mcp, 'searchRegistry', { deadlineMs: 20_000 }),
  bind('GET', '/api/prompts/mcp-tools', mcp, 'toolsPrompt', { tag: 'prompts' }),
];
