// Storage key: the name under which a text is kept, as clients and models write it. Pure.

import { isoTimestamp } from '../../std/clock.ts';
import { sha256Hex } from '../../std/hashes.ts';

const TOOL_LENGTH_MAX = 64;
const HASH_DIGITS = 8;

/** `{tool}_{HHMMSS}_{8 hex of sha256}` in UTC; a user message's begins with `msg`. Safe in a URL's path. */
export function storageKey(kind: 'tool' | 'message', tool: string, content: string, nowMs: number): string {
  const stem = kind === 'message' ? 'msg' : tool.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, TOOL_LENGTH_MAX);
  const timeOfDay = isoTimestamp(nowMs).slice(11, 19).replaceAll(':', '');
  return `${stem}_${timeOfDay}_${sha256Hex(content).slice(0, HASH_DIGITS)}`;
}

/** Anything else names nothing, and is not looked up. */
export function isStorageKey(text: string): boolean {
  return /^[A-Za-z0-9_.-]{1,200}$/.test(text);
}
