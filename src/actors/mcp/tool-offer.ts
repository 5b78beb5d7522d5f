// ToolOffer: what the tools of all connected servers are to models, worked out when something has changed and asked for then.
// What a server says counts as it is only in length and form (protocol.ts, M4): a description may still try to talk a model into
// something, which is why a server can be held to some of its tools, and to some agents.

import { sha256Hex } from '../../std/hashes.ts';
import type { McpCatalogue, McpTool } from '../mcp-sessions/protocol.ts';
import { modelSchema } from './model-schema.ts';
import type { OfferedServerTool, ServerConfig } from './protocol.ts';
import { labelOf, toolNames } from './tool-names.ts';

export interface CallableServer {
  readonly name: string;
  readonly config: ServerConfig;
  readonly catalogue: McpCatalogue;
}

export interface ToolOffer {
  /** Follows from the content. */
  readonly version: string;
  readonly tools: readonly OfferedServerTool[];
}

/** The APIs of models take a little more. */
const DESCRIPTION_CHARS_MAX = 1_000;

export class ToolOffers {
  /** By tool as it came from its server: most of them outlive a change elsewhere. */
  readonly #rewritten = new WeakMap<McpTool, Pick<OfferedServerTool, 'description' | 'parameters'>>();
  #current: ToolOffer | null = null;

  /** Something that `of` depends on is not what it was. */
  forget(): void {
    this.#current = null;
  }

  /** `serversNow` are in the order in which they are offered. */
  of(serversNow: () => Iterable<CallableServer>): ToolOffer {
    this.#current ??= this.#describe(serversNow());
    return this.#current;
  }

  #describe(servers: Iterable<CallableServer>): ToolOffer {
    const found = [...servers].flatMap(({ name, config, catalogue }) =>
      catalogue.tools
        .filter((tool) => isAllowed(tool.name, config))
        .map((tool) => ({ server: name, config, tool })),
    );
    const names = toolNames(found.map(({ server, tool }) => ({ server, tool: tool.name })));
    const tools = found.map(({ server, config, tool }, i) => ({
      name: names[i] as string,
      label: labelOf({ server, tool: tool.name }),
      server,
      tool: tool.name,
      allowed_agent_ids: config.allowed_agent_ids,
      ...this.#rewrite(tool, server),
    }));
    return { version: tools.length === 0 ? '' : sha256Hex(JSON.stringify(tools)), tools };
  }

  #rewrite(tool: McpTool, server: string): Pick<OfferedServerTool, 'description' | 'parameters'> {
    const known = this.#rewritten.get(tool);
    if (known !== undefined) return known;
    const told = tool.description.trim() || tool.title?.trim() || `${tool.name} of ${server}`;
    const rewritten = {
      description: told.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed(),
      parameters: modelSchema(tool.input_schema),
    };
    this.#rewritten.set(tool, rewritten);
    return rewritten;
  }
}

/** By the server's own lists, in which its tools stand by name; what is blocked is not allowed. */
function isAllowed(tool: string, { allowed_tools, blocked_tools }: ServerConfig): boolean {
  return !blocked_tools.includes(tool) && (allowed_tools?.includes(tool) ?? true);
}

/** What a prompt may tell of the tools; empty without any. */
export function toolsPrompt(tools: readonly OfferedServerTool[]): string {
  if (tools.length === 0) return '';
  const lines = [...Map.groupBy(tools, ({ server }) => server)].flatMap(([server, own]) => [
    '',
    `### ${server}`,
    ...own.map(({ label, description }) => `- **${label}**: ${firstLine(description)}`),
  ]);
  return ['## Tools of connected servers', ...lines].join('\n');
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] as string;
}
