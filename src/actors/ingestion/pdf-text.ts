// PdfText: the text of a PDF, page by page. PDF.js in a build without native parts; scripts in the file are not run, fonts and
// pictures not decoded, nothing is fetched (P1).
// F1 Between pages and pieces of a page other work of the thread gets its turn, and the limits are looked at. A file of a few
//    kilobytes can keep the reader of PDFs busy for hours with a page of no text: whoever waits for it waits for the signal too.
// F2 What the reader of PDFs says about a file it cannot read is for the log at most: people are told in our words.

import { afterTurn } from '../../std/event-loop.ts';
import { boundAllocations, refusedAllocations } from './allocations.ts';
import { withoutNuls } from './encodings.ts';
import { MEMORY_BYTES_MAX, PAGES_MAX, TEXT_CHARS_MAX } from './limits.ts';
import { parserFaults } from './parser-protocol.ts';

type PdfDocument = Awaited<ReturnType<typeof import('unpdf/pdfjs').getDocument>['promise']>;
type PdfPage = Awaited<ReturnType<PdfDocument['getPage']>>;

interface PieceOfPage {
  readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[];
}

export interface PagedText {
  readonly text: string;
  /** Offset at which each page begins. */
  readonly pageStarts: readonly number[];
}

/** Tells on the way how much of it is read, from 0 to 1. @throws Fault */
export async function* pdfText(bytes: Uint8Array, signal: AbortSignal): AsyncGenerator<number, PagedText> {
  boundAllocations();
  const { getDocument } = await import('unpdf/pdfjs');
  const refusedBefore = refusedAllocations();
  const loading = getDocument({
    // A Buffer is not taken, though it is one.
    data: new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength),
    verbosity: 0,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    stopAtErrors: false,
  });
  try {
    const document = await unlessAborted(signal, loading.promise);
    return yield* readPages(document, signal, () => refusedAllocations() > refusedBefore);
  } catch (error) {
    if (refusedAllocations() > refusedBefore) throw tooLarge();
    throw faultOf(error);
  } finally {
    // It waits for the page that it is at. After an abort nobody does: the thread ends with what is at work there. F1
    await unlessAborted(signal, loading.destroy());
  }
}

async function* readPages(
  document: PdfDocument,
  signal: AbortSignal,
  isOverExpanded: () => boolean,
): AsyncGenerator<number, PagedText> {
  if (document.numPages > PAGES_MAX) {
    throw parserFaults.document_too_large(`The PDF has more than ${PAGES_MAX} pages`);
  }
  const pageStarts: number[] = [];
  const pages: string[] = [];
  let length = 0;
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await unlessAborted(signal, document.getPage(number));
    const lines = `${await readPage(page, TEXT_CHARS_MAX - length, signal)}\n`;
    page.cleanup();
    if (isOverExpanded()) throw tooLarge();
    pageStarts.push(length);
    pages.push(lines);
    length += lines.length;
    yield number / document.numPages;
  }
  return { text: pages.join(''), pageStarts };
}

async function readPage(page: PdfPage, charsMax: number, signal: AbortSignal): Promise<string> {
  const reader = page.streamTextContent().getReader();
  try {
    return await readPieces(reader, charsMax, signal);
  } catch (error) {
    // A page whose text nobody takes any more waits for ever to give it, and the end of the document waits for the page.
    reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

async function readPieces(
  reader: ReadableStreamDefaultReader,
  charsMax: number,
  signal: AbortSignal,
): Promise<string> {
  const pieces: string[] = [];
  let length = 0;
  for (;;) {
    await turn();
    checkLimits(signal);
    const { done, value } = (await unlessAborted(signal, reader.read())) as {
      readonly done: boolean;
      readonly value: PieceOfPage;
    };
    if (done) break;
    for (const { str = '', hasEOL } of value.items) {
      pieces.push(hasEOL === true ? `${str}\n` : str);
      length += str.length + 1;
    }
    if (length > charsMax) throw parserFaults.document_too_large('The PDF holds too much text');
  }
  // Fonts without a map of characters give some.
  return withoutNuls(pieces.join('')).trimEnd();
}

/** F1. */
function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function checkLimits(signal: AbortSignal): void {
  signal.throwIfAborted();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  if (heapUsed + arrayBuffers > MEMORY_BYTES_MAX) {
    throw parserFaults.document_too_large('Reading the PDF takes too much memory');
  }
}

function turn(): Promise<void> {
  return new Promise(afterTurn);
}

function tooLarge(): Error {
  return parserFaults.document_too_large('A part of the PDF expands to more than is allowed');
}

/** F2. */
function faultOf(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (name === 'PasswordException') {
    return parserFaults.document_encrypted('The PDF is protected by a password');
  }
  const isReaders = name.endsWith('Exception') || name === 'RangeError' || name === 'TypeError';
  if (!isReaders && name !== 'Error') return error;
  return parserFaults.document_unreadable('The PDF is damaged, or no PDF');
}
