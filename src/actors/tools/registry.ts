// Registry: every internal tool by name. A new family of tools is one import and one line here.
// R1 Names are unique. R2 The order is the one in which tools are offered to a model.

import { assert } from '../../std/assert.ts';
import { documentTools } from './document-tools.ts';
import { exhibitTools } from './exhibit-tool.ts';
import { historyTools } from './history-tools.ts';
import { projectTools } from './project-tools.ts';
import type { ToolDescription } from './protocol.ts';
import { storedOutputTools } from './stored-output-tools.ts';
import type { Tool } from './tool.ts';
import { viewImageTools } from './view-image-tool.ts';
import { workingMemoryTools } from './working-memory-tools.ts';

export interface ToolRegistry {
  readonly names: readonly string[];
  get(name: string): Tool | undefined;
  all(): Iterable<Tool>;
}

export function toolRegistry(families: readonly (readonly Tool[])[]): ToolRegistry {
  const byName = new Map<string, Tool>();
  for (const tool of families.flat()) {
    assert(!byName.has(tool.name), `two tools are called ${tool.name}`); // R1
    byName.set(tool.name, tool);
  }
  return { names: [...byName.keys()], get: (name) => byName.get(name), all: () => byName.values() };
}

export const internalTools = toolRegistry([
  storedOutputTools,
  historyTools,
  workingMemoryTools,
  exhibitTools,
  projectTools,
  documentTools,
  viewImageTools,
]);

/** As a model's API wants it: plain JSON Schema, in which what has a default is not required. */
export function describeTool({ name, description, parameters }: Tool): ToolDescription {
  const schema = JSON.parse(JSON.stringify(parameters)) as {
    properties: Record<string, { default?: unknown }>;
    required?: string[];
  };
  const required = (schema.required ?? []).filter(
    (member) => schema.properties[member]?.default === undefined,
  );
  return { name, description, parameters: { ...schema, required } };
}
