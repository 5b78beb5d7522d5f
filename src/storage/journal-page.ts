// Page: what one thread appends to the log in one commit, or a part of that: the items of many journals behind a directory.
// P1 The directory alone says what the page is about; bodies are looked at when they are read.
// P2 A page is never changed. It is known by its writer (a thread, for a while) and its number, which only grow.
// P3 Numbers that do not fit the page are damage, and said so: nothing is read past the end.

import { assert } from '../std/assert.ts';
import { damagedJournal } from './journal-frames.ts';

export interface JournalName {
  /** Of the collection. */
  readonly name: string;
  readonly journal: string;
}

export interface PageNumber {
  readonly writer: number;
  readonly page: number;
}

export type LogItem = JournalName &
  (
    | { readonly kind: 'entries'; readonly firstSeq: number; readonly count: number; readonly body: Buffer }
    /** Nothing follows for now; void when something does. */
    | { readonly kind: 'sealed'; readonly lastSeq: number }
    /** All that pages up to these hold of the journal is void: it lies in spans, or has expired. */
    | { readonly kind: 'cut'; readonly through: readonly PageNumber[] }
  );

/** Entries as a directory tells of them; `at` is where it does (see `entriesAt`). */
export interface DirectoryVisitor {
  entries(name: string, journal: string, firstSeq: number, count: number, at: number, bytes: number): void;
  sealed(name: string, journal: string, lastSeq: number): void;
  cut(name: string, journal: string, through: readonly PageNumber[]): void;
}

/** A sequence number and a page number take four bytes each. */
export const SEQ_MAX = 2 ** 32 - 1;
export const PAGE_MAX = 2 ** 32 - 1;

const FORMAT = 1;
const ENTRIES = 1;
const SEALED = 2;
const CUT = 3;

/** Format, number of names, number of items. */
const HEADER_BYTES = 1 + 1 + 4;
/** First number, count, where the body begins, its length. */
const ENTRIES_BYTES = 16;
const SEALED_BYTES = 4;
const PAGE_NUMBER_BYTES = 8;
const NAMES_MAX = 255;
const UTF8_BYTES_PER_UNIT_MAX = 3;

const WORD = 4;

export function pageKey(writer: number, page: number): Buffer {
  const key = Buffer.allocUnsafe(PAGE_NUMBER_BYTES);
  key.writeUInt32BE(writer, 0);
  key.writeUInt32BE(page, WORD);
  return key;
}

export function pageNumberOf(key: Buffer): PageNumber {
  if (key.length !== PAGE_NUMBER_BYTES) throw damagedJournal('a page of the log has no number');
  return { writer: key.readUInt32BE(0), page: key.readUInt32BE(WORD) };
}

/** About what an item takes: for bounds, and never less than it is. */
export function bytesOfItem(item: LogItem): number {
  const directory = 1 + 1 + 2 + item.journal.length * UTF8_BYTES_PER_UNIT_MAX;
  if (item.kind === 'entries') return directory + ENTRIES_BYTES + item.body.length;
  return directory + (item.kind === 'sealed' ? SEALED_BYTES : 2 + item.through.length * PAGE_NUMBER_BYTES);
}

export function encodePage(items: readonly LogItem[]): Buffer {
  const names = [...new Set(items.map(({ name }) => name))];
  assert(names.length <= NAMES_MAX, 'a page holds journals of few collections');
  const namesBytes = names.reduce((sum, name) => sum + 2 + name.length * UTF8_BYTES_PER_UNIT_MAX, 0);
  const page = Buffer.allocUnsafe(
    items.reduce((sum, item) => sum + bytesOfItem(item), HEADER_BYTES + namesBytes),
  );
  page[0] = FORMAT;
  page[1] = names.length;
  let at = page.writeUInt32LE(items.length, 2);
  for (const name of names) at = writeText(page, name, at);
  const bodies: { readonly at: number; readonly body: Buffer }[] = [];
  for (const item of items) {
    page[at] = item.kind === 'entries' ? ENTRIES : item.kind === 'sealed' ? SEALED : CUT;
    page[at + 1] = names.indexOf(item.name);
    at = writeText(page, item.journal, at + 2);
    if (item.kind === 'entries') {
      page.writeUInt32LE(item.firstSeq, at);
      page.writeUInt32LE(item.count, at + WORD);
      page.writeUInt32LE(item.body.length, at + 3 * WORD);
      bodies.push({ at: at + 2 * WORD, body: item.body });
      at += ENTRIES_BYTES;
    } else if (item.kind === 'sealed') at = page.writeUInt32LE(item.lastSeq, at);
    else {
      at = page.writeUInt16LE(item.through.length, at);
      for (const { writer, page: number } of item.through) {
        at = page.writeUInt32LE(number, page.writeUInt32LE(writer, at));
      }
    }
  }
  for (const { at: bodyAt, body } of bodies) {
    page.writeUInt32LE(at, bodyAt);
    at += body.copy(page, at);
  }
  return page.subarray(0, at);
}

/** P1. @throws Fault storage_damaged. */
export function readDirectory(page: Buffer, visitor: DirectoryVisitor): void {
  try {
    visitItems(page, visitor);
  } catch (error) {
    if (error instanceof RangeError) throw damagedJournal('a page of the log is cut short', error); // P3
    throw error;
  }
}

/** Entries of a page: how many, and the part of its bytes with their frames. */
export interface PageEntries {
  readonly count: number;
  readonly start: number;
  readonly end: number;
}

/** The entries that a directory told of at `at`. @throws Fault storage_damaged. */
export function entriesAt(page: Buffer, at: number): PageEntries {
  if (at + ENTRIES_BYTES > page.length) throw damagedJournal('a page of the log is cut short');
  const count = page.readUInt32LE(at + WORD);
  const start = page.readUInt32LE(at + 2 * WORD);
  const end = start + page.readUInt32LE(at + 3 * WORD);
  if (end > page.length) throw damagedJournal('a page of the log is cut short');
  return { count, start, end };
}

function visitItems(page: Buffer, visitor: DirectoryVisitor): void {
  if (page.readUInt8(0) !== FORMAT) throw damagedJournal('a page of the log is of no known format');
  const names: string[] = [];
  const items = page.readUInt32LE(2);
  let at = HEADER_BYTES;
  const text = (): string => {
    const start = at + 2;
    at = start + page.readUInt16LE(at);
    if (at > page.length) throw damagedJournal('a page of the log is cut short');
    return page.toString('utf8', start, at);
  };
  for (let name = page.readUInt8(1); name > 0; name -= 1) names.push(text());
  for (let item = 0; item < items; item += 1) {
    const kind = page.readUInt8(at);
    const name = names[page.readUInt8(at + 1)];
    if (name === undefined) throw damagedJournal('a page of the log names no collection');
    at += 2;
    const journal = text();
    if (kind === ENTRIES) {
      const firstSeq = page.readUInt32LE(at);
      const count = page.readUInt32LE(at + WORD);
      const bytes = page.readUInt32LE(at + 3 * WORD);
      if (page.readUInt32LE(at + 2 * WORD) + bytes > page.length)
        throw damagedJournal('a page of the log is cut short');
      visitor.entries(name, journal, firstSeq, count, at, bytes);
      at += ENTRIES_BYTES;
    } else if (kind === SEALED) {
      visitor.sealed(name, journal, page.readUInt32LE(at));
      at += SEALED_BYTES;
    } else if (kind === CUT) {
      const through: PageNumber[] = [];
      const pages = page.readUInt16LE(at);
      at += 2;
      for (let index = 0; index < pages; index += 1) {
        through.push({ writer: page.readUInt32LE(at), page: page.readUInt32LE(at + WORD) });
        at += PAGE_NUMBER_BYTES;
      }
      visitor.cut(name, journal, through);
    } else throw damagedJournal('a page of the log holds an item of no known kind');
  }
}

function writeText(page: Buffer, text: string, at: number): number {
  const length = page.write(text, at + 2, 'utf8');
  page.writeUInt16LE(length, at);
  return at + 2 + length;
}
