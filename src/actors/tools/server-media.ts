// ServerMedia: images and sounds that a tool of an MCP server gave. They are for the user: stored in the conversation's project, or
// in Home, and shown as a card. The model reads where they are.
// M1 A conversation that is not remembered leaves nothing behind, no media either.
// M2 What cannot be stored (its type, its size, the room that is left) is told to the model instead, and the call goes on.

import { errorText, isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { workspaces } from '../workspaces/protocol.ts';
import type { Exhibit, ToolCall } from './protocol.ts';
import { bytesOf, type Medium, type ResultPiece } from './server-result.ts';

export interface StoredPieces {
  readonly texts: readonly string[];
  readonly exhibits: readonly Exhibit[];
}

/** Cards of one call; a tool that gives more has lost its way. */
const STORED_MAX = 10;

/** In the order of the pieces. `label` titles the cards. */
export async function storedMedia(
  context: ActorContext,
  pieces: readonly ResultPiece[],
  call: ToolCall,
  label: string,
): Promise<StoredPieces> {
  const texts: string[] = [];
  const exhibits: Exhibit[] = [];
  // One after the other: their names tell the order in which they came.
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      texts.push(piece);
      continue;
    }
    const id = `exh_mcp_${call.tool_call_id}_${exhibits.length + 1}`;
    const stored =
      exhibits.length < STORED_MAX
        ? await store(context, piece, call, { id, title: label })
        : { reason: `only ${STORED_MAX} are` };
    if ('reason' in stored) {
      texts.push(
        `[${piece.kind} (${piece.mediaType}), ${bytesOf(piece.data)} bytes, not shown: ${stored.reason}]`,
      );
      continue;
    }
    texts.push(stored.text);
    exhibits.push(stored.exhibit);
  }
  return { texts, exhibits };
}

async function store(
  context: ActorContext,
  { kind, mediaType, data }: Medium,
  { caller }: ToolCall,
  { id, title }: { readonly id: string; readonly title: string },
): Promise<{ readonly text: string; readonly exhibit: Exhibit } | { readonly reason: string }> {
  if (!caller.durable) return { reason: 'this conversation is not remembered' }; // M1
  try {
    const { document_id, workspace_id, media_type, url } = await context.ask(workspaces, 'storeMedia', {
      user_id: caller.user_id,
      conversation_id: caller.conversation_id,
      bytes: Buffer.from(data, 'base64'),
      media_type: mediaType,
    });
    const reference = { workspace_id, document_id, media_type, url, exhibit_id: id };
    return {
      text: `[${kind}, shown to the user] stored_media ${JSON.stringify(reference)}`,
      exhibit: {
        schema_version: 1,
        id,
        title,
        layout: 'stack',
        elements: [kind === 'image' ? { type: 'image', url } : { type: 'audio', url }],
      },
    };
  } catch (error) {
    if (!isFault(error)) throw error;
    return { reason: errorText(error) }; // M2
  }
}
