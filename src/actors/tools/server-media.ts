// ServerMedia: images and sounds that a tool of an MCP server gave. They are not for the model's eyes: it reads where they are.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { Exhibit, ToolCall } from './protocol.ts';
import { bytesOf, type ResultPiece } from './server-result.ts';

export interface StoredPieces {
  readonly texts: readonly string[];
  readonly exhibits: readonly Exhibit[];
}

/** What can be kept is shown to the user; of the rest the model hears that it came. */
export async function storedMedia(
  _context: ActorContext,
  pieces: readonly ResultPiece[],
  _call: ToolCall,
): Promise<StoredPieces> {
  const texts = pieces.map((piece) =>
    typeof piece === 'string'
      ? piece
      : `[${piece.kind} (${piece.mediaType}), ${bytesOf(piece.data)} bytes, not shown]`,
  );
  return { texts, exhibits: [] };
}
