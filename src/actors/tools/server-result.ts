// ServerResult: what a tool of an MCP server gave, as text for the model and media for the user. Pure.
// The text says by itself what came with it: which resource it is of, what was left out.

import type { McpContent, McpToolResult } from '../mcp-sessions/protocol.ts';

export interface Medium {
  readonly kind: 'image' | 'audio';
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

export type ResultPiece = string | Medium;

export interface ReadResult {
  /** In the order of the server. */
  readonly pieces: readonly ResultPiece[];
  readonly isError: boolean;
}

export function readResult(result: McpToolResult): ReadResult {
  const pieces = result.content.map(pieceOf).filter((piece) => piece !== '');
  const hasText = result.content.some(({ type }) => type === 'text');
  // A server that gives both is to say the same in both; the text was made for reading.
  if (result.structured_content !== undefined && !hasText) {
    pieces.push(JSON.stringify(result.structured_content));
  }
  if (result.is_cut) pieces.push('[cut: the server gave more than is read]');
  if (pieces.length === 0) pieces.push('[the tool gave no content]');
  return { pieces, isError: result.is_error };
}

function pieceOf(content: McpContent): ResultPiece {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
    case 'audio':
      return { kind: content.type, mediaType: content.mime_type, data: content.data };
    case 'resource':
      return `[resource ${content.uri}${typeText(content.mime_type)}]\n${content.text}`;
    case 'blob': {
      const kind = /^(image|audio)\//.exec(content.mime_type ?? '')?.[1] as Medium['kind'] | undefined;
      if (kind !== undefined) return { kind, mediaType: content.mime_type as string, data: content.data };
      return `[resource ${content.uri}${typeText(content.mime_type)}, ${bytesOf(content.data)} bytes that are no text]`;
    }
    case 'resource_link': {
      const { name, uri, description, mime_type } = content;
      return `[link to resource ${name}: ${uri}${typeText(mime_type)}]${description === '' ? '' : ` ${description}`}`;
    }
  }
}

function typeText(mimeType: string | null): string {
  return mimeType === null ? '' : ` (${mimeType})`;
}

/** Of what base64 stands for. */
export function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}
