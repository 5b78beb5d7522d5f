// Registry: every tool that Troupe offers outward, by name. A new one is one import and one line here (U2).
// R1 Names are unique. R2 The order is the one in which clients are told of them.

import { assert } from '../../std/assert.ts';
import type { TObject } from '../../std/schema.ts';
import { cancelRunTool } from './cancel-run.ts';
import { listAgentsTool } from './list-agents.ts';
import { listProjectsTool } from './list-projects.ts';
import type { OutwardTool } from './outward-tool.ts';
import type { OfferedTool } from './protocol.ts';
import { readRunTool } from './read-run.ts';
import { recallTool } from './recall.ts';
import { runAgentTool } from './run-agent.ts';
import { searchProjectsTool } from './search-projects.ts';

const TOOLS: readonly OutwardTool[] = [
  listAgentsTool,
  runAgentTool,
  readRunTool,
  cancelRunTool,
  recallTool,
  listProjectsTool,
  searchProjectsTool,
];

export const outwardTools: ReadonlyMap<string, OutwardTool> = byName(TOOLS);
export const offeredTools: readonly OfferedTool[] = TOOLS.map(describe);

function byName(tools: readonly OutwardTool[]): ReadonlyMap<string, OutwardTool> {
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  assert(named.size === tools.length, 'no two outward tools have the same name'); // R1
  return named;
}

function describe(tool: OutwardTool): OfferedTool {
  const { name, title, description, isReadOnly, isDestructive, isIdempotent, reachesOut } = tool;
  return {
    name,
    title,
    description,
    inputSchema: plain(tool.parameters),
    outputSchema: plain(tool.result),
    annotations: {
      readOnlyHint: isReadOnly,
      destructiveHint: isDestructive ?? false,
      idempotentHint: isIdempotent ?? isReadOnly,
      openWorldHint: reachesOut ?? false,
    },
  };
}

/** JSON Schema without what only TypeBox knows; what has a default may be left out. */
function plain(schema: TObject): Record<string, unknown> {
  const copy = JSON.parse(JSON.stringify(schema)) as {
    properties: Record<string, { default?: unknown }>;
    required?: string[];
  };
  const required = (copy.required ?? []).filter((name) => copy.properties[name]?.default === undefined);
  return { ...copy, required };
}
