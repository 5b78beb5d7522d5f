// TurnTools: what a turn offers to its model, which grows when the model finds more.

import type { ToolDescription } from '../tools/protocol.ts';
import { type TurnOffer, tokensOf } from './offered-tools.ts';

export class TurnTools {
  readonly tokens: number;
  #all: readonly ToolDescription[];

  constructor({ list, loaded }: TurnOffer) {
    // The list is shared by all turns of the thread.
    this.#all = loaded.length === 0 ? list.tools : [...list.tools, ...loaded];
    this.tokens = list.tokens + tokensOf(loaded);
  }

  /** For the next model call. */
  get all(): readonly ToolDescription[] {
    return this.#all;
  }

  load(found: readonly ToolDescription[]): void {
    const known = new Set(this.#all.map(({ name }) => name));
    const fresh = found.filter(({ name }) => !known.has(name));
    if (fresh.length > 0) this.#all = [...this.#all, ...fresh];
  }

  /** What people call a tool. */
  labelOf(name: string): string {
    return this.#find(name)?.label ?? name;
  }

  /** Answered by the service itself, at once; others may take long, and tell how far they are. */
  isOwn(name: string): boolean {
    const tool = this.#find(name);
    return tool !== undefined && tool.label === undefined;
  }

  #find(name: string): ToolDescription | undefined {
    return this.#all.find((tool) => tool.name === name);
  }
}
