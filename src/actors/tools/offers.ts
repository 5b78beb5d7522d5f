// Offers: lists of tools as a model's API wants them. A list is the same for nearly every turn and some ten thousand characters
// long, so it is described once and named by its content; who has it already is not sent it again.

import { sha256Hex } from '../../std/hashes.ts';
import type { ToolDescription } from './protocol.ts';
import { describeTool } from './registry.ts';
import type { Tool } from './tool.ts';

export interface Offer {
  /** Follows from the content: the same list has the same version after a restart. */
  readonly version: string;
  readonly tools: readonly ToolDescription[];
}

interface Described extends Offer {
  readonly of: readonly Tool[];
}

/** What settings and callers select are a few lists; the oldest makes room. */
const OFFERS_KEPT_MAX = 8;

export class Offers {
  readonly #kept: Described[] = [];

  of(tools: readonly Tool[]): Offer {
    const kept = this.#kept.find(
      ({ of }) => of.length === tools.length && of.every((tool, i) => tool === tools[i]),
    );
    if (kept !== undefined) return kept;
    const descriptions = tools.map(describeTool);
    const offer = { of: tools, version: sha256Hex(JSON.stringify(descriptions)), tools: descriptions };
    if (this.#kept.length >= OFFERS_KEPT_MAX) this.#kept.shift();
    this.#kept.push(offer);
    return offer;
  }
}
