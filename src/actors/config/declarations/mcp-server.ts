// Settings of Troupe as an MCP server.

import { flag } from '../setting.ts';

export const mcpServerSettings = {
  'mcp.server.enabled': flag(
    false,
    'Offers the agents of this service as tools to programs that speak MCP, at `/mcp`.',
    {
      why: 'A desktop assistant or an editor can hand work to Troupe, and reads its answers as any tool result.',
    },
  ),
};
