// Parser: what a parser thread is asked. Each parser has a thread of its own, so that one that loops or runs out of memory is
// ended with it, and only its document fails.
// P1 Text is read as it is, never run, and nothing that it names is fetched.
// P2 What stands in the way of reading a document is a declared fault that says so in a sentence for people.
// P3 A chunk is a stretch of the text, by offsets: at most CHUNK_CHARS_MAX characters, and begins up to
//    CHUNK_OVERLAP_CHARS_MAX before the end of the one before it.

import { declareFaults } from '../../std/errors.ts';
import { protocol, stream } from '../../supervisor/protocol.ts';

export const CHUNK_CHARS_MAX = 1_000;
export const CHUNK_OVERLAP_CHARS_MAX = 150;
/** Of each part but the last. Some tens of kilobytes: a message that no thread has to hold its breath for. */
export const CHUNKS_PER_PART = 64;

export const parserFaults = declareFaults({
  /** The file is not there any more: the document was deleted or changed. */
  document_gone: 'not_found',
  document_encrypted: 'unprocessable',
  /** Damaged, or not what its name says. */
  document_unreadable: 'unprocessable',
  document_without_text: 'unprocessable',
  /** Beyond a limit on pages, text or memory. */
  document_too_large: 'too_large',
  document_too_slow: 'unprocessable',
});

export interface ParseOrder {
  readonly path: string;
  readonly filename: string;
  /** `document_too_slow` beyond it. */
  readonly withinMs: number;
}

export interface Chunk {
  /** Characters of the whole text, the end exclusive. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Lines of the text, from 1. */
  readonly line: number;
  readonly lineEnd: number;
  /** From 1; null where there are no pages. */
  readonly page: number | null;
}

/**
 * A stretch of the text, and the chunks that end in it, as many as CHUNKS_PER_PART. Put together, the texts of all parts are
 * the whole text.
 */
export interface ParsedPart {
  readonly kind: 'part';
  readonly text: string;
  readonly chunks: readonly Chunk[];
  /** Characters of the whole text. */
  readonly textLength: number;
}

/** How much of the document has been read, from 0 to 1. Told now and then, before the first part. */
export interface ReadingProgress {
  readonly kind: 'progress';
  readonly fraction: number;
}

export const parser = protocol('parser', {
  /** P2. No part is produced before the document has been read to its end. */
  parse: stream<ParseOrder, ReadingProgress | ParsedPart>({ faults: parserFaults }),
});
