// OfferedTools: the lists of tools that turns offer to their models, kept once for all runs of a thread. A list of its own cost
// each run 20 KB of memory for as long as it lived, and both threads a copy of it.

import type { ActorContext } from '../../supervisor/actor.ts';
import { type ToolDescription, tools } from '../tools/protocol.ts';
import { estimateTokens } from './tokens.ts';

export interface ToolList {
  /** Of its content. */
  readonly version: string;
  readonly tools: readonly ToolDescription[];
  /** What they take of a model's context. */
  readonly tokens: number;
}

export const NO_TOOLS: ToolList = { version: '', tools: [], tokens: 0 };

export class OfferedTools {
  /** The latest, of turns that are remembered and of those that are not. */
  readonly #latest = new Map<boolean, ToolList>();

  /** What a turn may offer now: always asked for, sent only when it has changed. @throws Fault */
  async list(context: ActorContext, durable: boolean, signal: AbortSignal): Promise<ToolList> {
    const known = this.#latest.get(durable) ?? NO_TOOLS;
    const offer = await context.ask(tools, 'offer', { durable, known: known.version }, { signal });
    if (offer.tools === null) return known;
    const list = { ...offer, tools: offer.tools, tokens: estimateTokens(JSON.stringify(offer.tools)) };
    this.#latest.set(durable, list);
    return list;
  }
}
