// Encodings: the bytes of a text file as text. A byte order mark decides; else UTF-8 where it fits without an error; else
// what the bytes look like, by frequency.

import { parserFaults } from './parser-protocol.ts';
import { replacedInPieces } from './pieces.ts';

/** Frequencies need no more. */
const SAMPLE_BYTES = 64 * 1024;
/** A file in a one-byte encoding that nothing is known of. */
const ENCODING_DEFAULT = 'windows-1252';
/** Binary files decode to something, too. Text has hardly a character of these. */
const BINARY_SHARE_MAX = 0.01;

/** @throws document_unreadable */
export async function decodeText(bytes: Uint8Array): Promise<string> {
  const text = tidied(await decoded(bytes));
  const sample = text.slice(0, SAMPLE_BYTES);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const binary = sample.match(/[\0-\x08\x0e-\x1f\ufffd]/g)?.length ?? 0;
  if (binary > sample.length * BINARY_SHARE_MAX) {
    throw parserFaults.document_unreadable('The file is not text in an encoding that is known');
  }
  return withoutNuls(text);
}

export function withoutNuls(text: string): string {
  return text.includes('\0') ? replacedInPieces(text, '\0', '') : text;
}

async function decoded(bytes: Uint8Array): Promise<string> {
  const marked = markOf(bytes);
  if (marked !== null) return new TextDecoder(marked).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const { detect } = await import('chardet');
    return decodedAs(detect(bytes.subarray(0, SAMPLE_BYTES)) ?? ENCODING_DEFAULT, bytes);
  }
}

function markOf(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return null;
}

function decodedAs(encoding: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // A name that the standard does not know.
    return new TextDecoder(ENCODING_DEFAULT).decode(bytes);
  }
}

/** One kind of line end, so that lines can be counted. */
function tidied(text: string): string {
  return text.includes('\r') ? replacedInPieces(text, /\r\n?/, '\n') : text;
}
