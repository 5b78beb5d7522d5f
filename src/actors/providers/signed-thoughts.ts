// Signed thoughts: what a model thought before it called tools. The messages API wants it back with the calls, word for word
// and with its signature; it cannot be made up again from the text that the readers saw.

import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { SignedThought } from './protocol.ts';

export interface ThoughtCollector {
  see(event: RawMessageStreamEvent): void;
  /** In the order in which they came; one that was not signed to the end is left out. */
  thoughts(): readonly SignedThought[];
}

export function collectThoughts(): ThoughtCollector {
  const done: SignedThought[] = [];
  let pieces: string[] | null = null;
  return {
    see(event) {
      if (event.type === 'content_block_start') {
        const block = event.content_block;
        pieces = block?.type === 'thinking' ? [block.thinking ?? ''] : null;
        if (block?.type === 'redacted_thinking') done.push({ kind: 'redacted', data: block.data });
        return;
      }
      if (event.type !== 'content_block_delta' || pieces === null) return;
      if (event.delta?.type === 'thinking_delta') pieces.push(event.delta.thinking);
      if (event.delta?.type === 'signature_delta' && event.delta.signature) {
        done.push({ kind: 'signed', text: pieces.join(''), signature: event.delta.signature });
        pieces = null;
      }
    },
    thoughts: () => done,
  };
}
