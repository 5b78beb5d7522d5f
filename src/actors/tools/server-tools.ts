// ServerTools: the tools of connected MCP servers, as this noun offers them to models.
// O1 Who may call what is decided here for lists and calls alike: by the settings' lists, in which what is blocked is not allowed,
//    and by the agents that a server is for. The lists of a server itself are its directory's business.
// O2 More than `mcp.inline_tools_max` of them are not offered, but looked for: `search_tools` finds some, which are offered from
//    then on. Each can be called all the same by whoever knows its name.
// O3 Without the directory there are none: turns go on without them.

import { isFault } from '../../std/errors.ts';
import { sha256Hex } from '../../std/hashes.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Settings } from '../config/protocol.ts';
import { AGENT_DEFAULT, mcp, type OfferedServerTool } from '../mcp/protocol.ts';
import type { ToolDescription } from './protocol.ts';
import { describeSearch } from './search-tool.ts';

export interface Shelf {
  /** Of what is offered; empty when that is nothing. */
  readonly version: string;
  readonly offered: readonly ToolDescription[];
  /** All that may be called, by the model's name for it. */
  readonly callable: ReadonlyMap<string, OfferedServerTool>;
}

/** By agent; without servers that are for some agents only there is one. */
const SHELVES_KEPT_MAX = 16;

export class ServerTools {
  readonly #context: ActorContext;
  #version = '';
  #tools: readonly OfferedServerTool[] = [];
  #settings: Settings | null = null;
  readonly #shelves = new Map<string, Shelf>();

  constructor(context: ActorContext) {
    this.#context = context;
  }

  async shelf(settings: Settings, agent: string = AGENT_DEFAULT): Promise<Shelf> {
    await this.#refresh();
    // Settings are a new object when any of them has changed.
    if (this.#settings !== settings) this.#shelves.clear();
    this.#settings = settings;
    const isForAll = this.#tools.every(({ allowed_agent_ids }) => allowed_agent_ids === null);
    const key = isForAll ? '' : agent;
    const kept = this.#shelves.get(key);
    if (kept !== undefined) return kept;
    if (this.#shelves.size >= SHELVES_KEPT_MAX) this.#shelves.clear();
    const shelf = shelfOf(this.#tools, settings, agent);
    this.#shelves.set(key, shelf);
    return shelf;
  }

  async #refresh(): Promise<void> {
    try {
      const { version, tools } = await this.#context.ask(mcp, 'offer', { known: this.#version });
      if (tools === null) return;
      this.#version = version;
      this.#tools = tools;
    } catch (error) {
      if (!isFault(error)) throw error;
      this.#version = ''; // O3
      this.#tools = [];
    }
    this.#shelves.clear();
  }
}

/** By the model's name for it, or by its label: models have seen both. */
export function findTool({ callable }: Shelf, name: string): OfferedServerTool | undefined {
  return callable.get(name) ?? [...callable.values()].find(({ label }) => label === name);
}

export function describeServerTool({
  name,
  label,
  description,
  parameters,
}: OfferedServerTool): ToolDescription {
  return { name, label, description, parameters };
}

function shelfOf(tools: readonly OfferedServerTool[], settings: Settings, agent: string): Shelf {
  const allowed = listOf(settings['mcp.allowed_tools']);
  const blocked = listOf(settings['mcp.blocked_tools']);
  const visible = tools.filter(
    (tool) =>
      !isListed(tool, blocked) &&
      (allowed.size === 0 || isListed(tool, allowed)) &&
      (tool.allowed_agent_ids?.includes(agent) ?? true),
  );
  const offered =
    visible.length > settings['mcp.inline_tools_max']
      ? [describeSearch(visible)]
      : visible.map(describeServerTool);
  return {
    version: offered.length === 0 ? '' : sha256Hex(JSON.stringify(offered)),
    offered,
    callable: new Map(visible.map((tool) => [tool.name, tool])),
  };
}

/** An empty list allows all; an entry is `server.tool`, or `server.*`. */
function isListed({ label, server }: OfferedServerTool, list: ReadonlySet<string>): boolean {
  return list.has(label) || list.has(`${server}.*`);
}

function listOf(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((text) => text.trim()));
}
