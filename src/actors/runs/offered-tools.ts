// OfferedTools: the lists of tools that turns offer to their models, kept once for all runs of a thread. A list of its own cost
// each run 20 KB of memory for as long as it lived, and both threads a copy of it.

import type { ActorContext } from '../../supervisor/actor.ts';
import { type ToolCaller, type ToolDescription, tools } from '../tools/protocol.ts';
import { estimateTokens } from './tokens.ts';

export interface ToolList {
  /** Of its content. */
  readonly version: string;
  readonly tools: readonly ToolDescription[];
  /** What they take of a model's context. */
  readonly tokens: number;
}

export interface TurnOffer {
  readonly list: ToolList;
  /** On top of it: what was found in this conversation. */
  readonly loaded: readonly ToolDescription[];
}

const EMPTY_LIST: ToolList = { version: '', tools: [], tokens: 0 };
export const NO_TOOLS: TurnOffer = { list: EMPTY_LIST, loaded: [] };

/** Agents differ in it only where servers are for some of them. */
const LISTS_KEPT_MAX = 16;

export class OfferedTools {
  /** The latest, by agent, of turns that are remembered and of those that are not, inside and outside of projects, with and without images; the one that was used last at the end. */
  readonly #latest = new Map<string, ToolList>();

  /** What a turn may offer now: always asked for, sent only when it has changed. @throws Fault */
  async list(
    context: ActorContext,
    { durable, agent_id, conversation_id, workspace_id, sees = true }: ToolCaller,
    signal: AbortSignal,
  ): Promise<TurnOffer> {
    const key = `${durable} ${workspace_id !== undefined} ${sees} ${agent_id ?? ''}`;
    const known = this.#latest.get(key) ?? EMPTY_LIST;
    const question = { durable, agent_id, conversation_id, workspace_id, sees, known: known.version };
    const offer = await context.ask(tools, 'offer', question, { signal });
    const list = offer.tools === null ? known : this.#listOf(offer.version, offer.tools);
    this.#keep(key, list);
    return { list, loaded: offer.loaded };
  }

  /** Agents that are offered the same share it. */
  #listOf(version: string, described: readonly ToolDescription[]): ToolList {
    const same = [...this.#latest.values()].find((list) => list.version === version);
    return same ?? { version, tools: described, tokens: tokensOf(described) };
  }

  #keep(key: string, list: ToolList): void {
    this.#latest.delete(key);
    this.#latest.set(key, list);
    if (this.#latest.size <= LISTS_KEPT_MAX) return;
    const [oldest] = this.#latest.keys();
    if (oldest !== undefined) this.#latest.delete(oldest);
  }
}

/** What descriptions take of a model's context. */
export function tokensOf(described: readonly ToolDescription[]): number {
  return described.length === 0 ? 0 : estimateTokens(JSON.stringify(described));
}
