// Long result: what the model sees of a tool result that is too long for the conversation. Pure.

import { TOOL_RESULT_INLINE_CHARS_MAX } from '../tool-outputs/protocol.ts';
import { excerpt } from './excerpt.ts';

const PREVIEW_CHARS = 1_000;

export function isLong(content: string): boolean {
  return content.length > TOOL_RESULT_INLINE_CHARS_MAX;
}

/** The result is stored under `key`: its beginning, and how to get at the rest. */
export function referenceTo(key: string, tool: string, content: string): string {
  return [
    `[The result of ${tool} has ${content.length} characters and is stored for an hour as ${key}.`,
    `Find passages with tool_output_query(key, query), list or read sections with tool_output_section(key, section),`,
    `select from JSON with tool_output_path(key, jsonpath), or read on with read_stored_output(key, offset).`,
    `It begins:]`,
    excerpt(content, PREVIEW_CHARS),
  ].join('\n');
}

/** The result could not or may not be stored: as much of it as fits. */
export function cutShort(content: string): string {
  const note = `\n[cut: the result has ${content.length} characters, and the rest was not kept]`;
  return excerpt(content, TOOL_RESULT_INLINE_CHARS_MAX - note.length - 1) + note;
}
