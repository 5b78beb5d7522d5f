// Settings of MCP servers: which of their tools models are offered, and where one looks for servers.

import { integer, operatorOnly, text, texts } from '../setting.ts';

const TOOLS_LISTED_MAX = 1_000;

export const mcpToolSettings = {
  'mcp.inline_tools_max': integer(
    40,
    { minimum: 0, maximum: 10_000 },
    'How many tools of MCP servers a model is offered at once; of more it looks for those that it needs.',
    {
      unit: 'tools',
      why: 'Every tool that is offered is part of every prompt, and makes the choice harder.',
    },
  ),
  'mcp.allowed_tools': texts(
    [],
    TOOLS_LISTED_MAX,
    'The only tools of MCP servers that models may call, as server.tool or server.*.',
    { emptyMeans: 'all of them' },
  ),
  'mcp.blocked_tools': texts(
    [],
    TOOLS_LISTED_MAX,
    'Tools of MCP servers that no model may call, as server.tool or server.*; this wins over what is allowed.',
  ),
  ...operatorOnly({
    'mcp.registry_url': text(
      'https://registry.modelcontextprotocol.io',
      'Address of the public registry in which one looks for MCP servers.',
      { environment: 'SVC_MCP_REGISTRY_URL' },
    ),
  }),
};
