// McpClient: a program that speaks MCP to Troupe: the protocol's own client, over HTTP or over a process's standard input and
// output. Closed when the test is over.

import {
  type CallToolResult,
  Client,
  type RequestOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';

/** The two ways to speak it: with a session of the 2025 revisions, and without one (2026). */
export const REVISIONS = ['2025', '2026'] as const;
export type Revision = (typeof REVISIONS)[number];

export interface McpClient {
  readonly client: Client;
  tool(name: string, args?: Readonly<Record<string, unknown>>, options?: RequestOptions): Promise<ToolAnswer>;
}

export interface ToolAnswer {
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own result; tests say what they expect.
  readonly data: any;
  readonly isError: boolean;
}

export async function connectMcp(transport: Transport, revision: Revision = '2025'): Promise<McpClient> {
  const client = new Client(
    { name: 'a-test', version: '1' },
    { versionNegotiation: { mode: revision === '2026' ? 'auto' : 'legacy' } },
  );
  onTestFinished(() => client.close());
  await client.connect(transport);
  return {
    client,
    tool: async (name, args = {}, options) =>
      answerOf((await client.callTool({ name, arguments: args }, options)) as CallToolResult),
  };
}

export function openMcp(serviceUrl: string, revision?: Revision): Promise<McpClient> {
  return connectMcp(new StreamableHTTPClientTransport(new URL('/mcp', serviceUrl)), revision);
}

function answerOf({ content, structuredContent, isError = false }: CallToolResult): ToolAnswer {
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', data: structuredContent, isError };
}
