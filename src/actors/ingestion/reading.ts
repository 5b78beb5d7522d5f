// Reading: a document's file as text, whatever it is written in. What takes long says on the way how far it is, from 0 to 1.

import { readFile } from 'node:fs/promises';
import { decodeText } from './encodings.ts';
import { htmlText } from './html-text.ts';
import { jsonText } from './json-text.ts';
import { type DocumentKind, kindOf } from './kinds.ts';
import { TEXT_CHARS_MAX } from './limits.ts';
import { parserFaults } from './parser-protocol.ts';
import { type PagedText, pdfText } from './pdf-text.ts';

export interface ReadText extends PagedText {
  readonly kind: DocumentKind;
}

export interface DocumentFile {
  readonly path: string;
  readonly filename: string;
}

/** @throws Fault */
export async function* readText(
  { path, filename }: DocumentFile,
  signal: AbortSignal,
): AsyncGenerator<number, ReadText> {
  const kind = kindOf(filename);
  const bytes = await readFile(path, { signal }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? parserFaults.document_gone('The file is not there any more') : error;
  });
  const read = kind === 'pdf' ? yield* pdfText(bytes, signal) : unpaged(await textOf(kind, bytes));
  if (read.text.trim() === '') throw parserFaults.document_without_text('no extractable text');
  if (read.text.length > TEXT_CHARS_MAX)
    throw parserFaults.document_too_large('The file holds too much text');
  return { ...read, kind };
}

async function textOf(kind: DocumentKind, bytes: Uint8Array): Promise<string> {
  const text = await decodeText(bytes);
  switch (kind) {
    case 'html':
      return htmlText(text);
    case 'json':
      return jsonText(text);
    default:
      return text;
  }
}

function unpaged(text: string): PagedText {
  return { text, pageStarts: [] };
}
