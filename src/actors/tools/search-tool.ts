// Search tool: `search_tools`, with which a model finds the few tools of MCP servers that it needs among many.

import { type Static, Type } from '../../std/schema.ts';
import type { OfferedServerTool } from '../mcp/protocol.ts';
import { excerpt } from './excerpt.ts';
import type { ToolDescription } from './protocol.ts';
import { jsonAnswer, type ToolAnswer } from './tool.ts';
import { rankedTools } from './tool-search.ts';

export const SEARCH_TOOL = 'search_tools';

const FOUND_DEFAULT = 8;
const FOUND_MAX = 20;
const DESCRIPTION_CHARS_MAX = 300;
/** What the description names; of more it gives the number. */
const SERVERS_NAMED_MAX = 30;

export const SearchArguments = Type.Object({
  query: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'What the tool should do, in a few words, or its name.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: FOUND_MAX, default: FOUND_DEFAULT }),
});

export type SearchArguments = Static<typeof SearchArguments>;

/** It names the servers, so that the model knows what there is to look for. */
export function describeSearch(tools: readonly OfferedServerTool[]): ToolDescription {
  const counts = [...Map.groupBy(tools, ({ server }) => server)].map(
    ([server, own]) => `${server} (${own.length})`,
  );
  const named = counts.slice(0, SERVERS_NAMED_MAX).join(', ');
  const more = counts.length > SERVERS_NAMED_MAX ? ` and ${counts.length - SERVERS_NAMED_MAX} more` : '';
  const { type, properties } = JSON.parse(JSON.stringify(SearchArguments)) as Record<string, unknown>;
  return {
    name: SEARCH_TOOL,
    description:
      `Finds tools among the ${tools.length} that connected servers offer: ${named}${more}. ` +
      'What is found can be called from your next message on. Search before you say that something cannot be done.',
    parameters: { type, properties, required: ['query'] },
  };
}

export function searchTools(
  tools: readonly OfferedServerTool[],
  { query, limit }: SearchArguments,
): { readonly found: readonly OfferedServerTool[]; readonly answer: ToolAnswer } {
  const found = rankedTools(tools, query, limit);
  const answer = jsonAnswer({
    count: found.length,
    tools: found.map(({ name, label, description }) => ({
      name,
      tool: label,
      description: excerpt(description, DESCRIPTION_CHARS_MAX),
    })),
    ...(found.length === 0 ? { hint: 'Nothing fits these words: try others, or fewer.' } : {}),
  });
  return { found, answer };
}
