// ActorOffer: the tools of `mcp-outward` as the protocol server wants them, for one user.
// F1 A call that the client cancels is cancelled by name; one whose reader is lost just loses it (U3).

import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { mcpOutward, type OutwardAnswer } from '../../actors/mcp-outward/protocol.ts';
import type { CallOptions, ToolOffer } from '../../mcp-server/server.ts';
import { edgeFaults } from '../errors.ts';
import type { ActorDoor } from '../route.ts';

export interface ActorOfferOptions {
  readonly door: ActorDoor;
  readonly userId: string;
  readonly newCallId: () => string;
  /** Whether the end of a call's signal was the client's own word. */
  readonly isCancel: (signal: AbortSignal) => boolean;
}

export function actorOffer({ door, userId, newCallId, isCancel }: ActorOfferOptions): ToolOffer {
  const actor = door.named(mcpOutward);
  return {
    // The schemas are the actor's own, and objects all of them.
    tools: async () => (await actor.ask('offer', {})).tools as Tool[],
    async call(name, given, { signal, onProgress }: CallOptions) {
      const call_id = newCallId();
      const lost = new AbortController();
      // F1. A cancelled call ends by itself: whoever let it go at the same time would be faster, and leave nothing to cancel.
      const leave = (): void => {
        if (isCancel(signal)) actor.tell('cancel', { call_id });
        else lost.abort();
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        const order = {
          call_id,
          user_id: userId,
          name,
          arguments: given,
          wantsProgress: onProgress !== null,
        };
        for await (const news of actor.stream('call', order, { signal: lost.signal })) {
          if (news.kind === 'answer') return resultOf(news.answer);
          onProgress?.(news.message);
        }
      } finally {
        signal.removeEventListener('abort', leave);
      }
      // Nobody reads this: the client has given the call up, or has lost its connection.
      throw edgeFaults.call_ended('The call ended without an answer');
    },
  };
}

function resultOf({ texts, structured, isError }: OutwardAnswer): CallToolResult {
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(isError ? { isError } : {}),
  };
}
