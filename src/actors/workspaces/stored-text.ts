// Stored text: the text of a document from its bytes, a page of it or the whole, and what an edit makes of it.
// X1 A page is found by reading from the beginning, in pieces: of a long document no more than that is ever in memory.
// X2 Bytes that are neither UTF-8 nor begin with the mark of UTF-16 are read as Windows-1252, in which nothing is wrong.

import type { OpenBlob } from '../../storage/contract.ts';
import { TEXT_BYTES_MAX } from './protocol.ts';
import { documentRefusals } from './refusals.ts';

export interface TextPage {
  readonly text: string;
  readonly totalChars: number;
}

/** X1. Counted in UTF-16 units; a pair of surrogates is not torn apart at the end. */
export async function readPage(blob: OpenBlob, offset: number, limit: number): Promise<TextPage> {
  const parts: string[] = [];
  let totalChars = 0;
  for await (const part of textOf(blob)) {
    const from = Math.max(0, offset - totalChars);
    const to = offset + limit - totalChars;
    if (from < part.length && to > 0) parts.push(part.slice(from, to));
    totalChars += part.length;
  }
  const text = parts.join('');
  const isTorn = offset + text.length < totalChars && text.length > 1 && isHighSurrogate(text.at(-1));
  return { text: isTorn ? text.slice(0, -1) : text, totalChars };
}

/** For a document whose size was looked at. */
export async function readWhole(blob: OpenBlob): Promise<string> {
  const parts: string[] = [];
  for await (const part of textOf(blob)) parts.push(part);
  return parts.join('');
}

async function* textOf(blob: OpenBlob): AsyncGenerator<string, void, undefined> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const piece of blob.read()) {
    decoder ??= new TextDecoder(encodingOf(piece));
    yield decoder.decode(piece, { stream: true });
  }
  if (decoder !== undefined) yield decoder.decode();
}

/** X2. */
function encodingOf(piece: Uint8Array): string {
  if (piece[0] === 0xff && piece[1] === 0xfe) return 'utf-16le';
  if (piece[0] === 0xfe && piece[1] === 0xff) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(piece, { stream: true });
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

function isHighSurrogate(unit: string | undefined): boolean {
  const code = unit?.charCodeAt(0) ?? 0;
  return code >= 0xd800 && code <= 0xdbff;
}

export interface Edit {
  readonly text: string;
  readonly found: number;
  readonly replacements: number;
}

/**
 * Nothing is replaced where the text is not found, or is found more than once and not all of it is meant. What would be too large is
 * not even made: a word for each letter of a long text is more than a string can be. @throws document_too_large
 */
export function edited(text: string, find: string, replace: string, isAllMeant: boolean): Edit {
  const pieces = find === '' ? [text] : text.split(find);
  const found = pieces.length - 1;
  const replacements = found === 1 || isAllMeant ? found : 0;
  // A character takes a byte at least.
  if (text.length + replacements * (replace.length - find.length) > TEXT_BYTES_MAX)
    throw documentRefusals.tooLarge(TEXT_BYTES_MAX);
  return { text: replacements === 0 ? text : pieces.join(replace), found, replacements };
}
