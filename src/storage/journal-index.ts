// Index: where the log holds the entries of each journal, as one thread knows it. Built from the directories of the pages, and
// kept up by looking for pages that are new since the last look.
// X1 After `catchUp` the index and what the thread reads next (until it refreshes) are of one and the same commit.
// X2 Looking costs one small read when nothing was added to the log, by whatever thread.
// X3 What a cut calls void is dropped after all pages of the look are taken in: pages of several writers come in no order, and a
//    cut was committed after all that it speaks of.
// X4 A page is removed only when all in it is void. So whoever has missed a cut, because it was removed before he looked, finds
//    his positions below their writer's first page, and drops them then.

import type { Environment } from './environment.ts';
import { damagedJournal } from './journal-frames.ts';
import { HEAD_KEY, SeenHead } from './journal-log.ts';
import {
  type DirectoryVisitor,
  entriesAt,
  type JournalName,
  PAGE_MAX,
  type PageNumber,
  pageKey,
  pageNumberOf,
  readDirectory,
} from './journal-page.ts';
import { Positions } from './journal-positions.ts';

/** Pages that were just written are what readers want: so many of each of so many writers. A page has some 32 KB (PAGE_BYTES). */
const PAGES_KEPT = 64;
const WRITERS_KEPT = 4;
/** A journal with so many positions is ripe for spans even while it goes on. */
const POSITIONS_RIPE_DEFAULT = 256;

const PAGES = { lower: pageKey(1, 0), upper: Buffer.alloc(9, 0xff) };

/** Pages of one writer that the log still has. */
interface WriterPages {
  first: number;
  last: number;
}

export interface LoggedJournal extends JournalName {
  readonly positions: Positions;
  /** Of its entries in the log, about. */
  bytes: number;
  /** Undefined when it has to be looked up. */
  lastSeq: number | undefined;
  sealedSeq: number;
  /** Up to which removal of pages the positions are known to be good (X4). */
  checkedAt: number;
}

interface Cut extends JournalName {
  readonly through: readonly PageNumber[];
}

interface Seal extends JournalName {
  readonly lastSeq: number;
}

export class JournalIndex {
  readonly #environment: Environment;
  readonly #positionsRipe: number;
  readonly #journals = new Map<string, Map<string, LoggedJournal>>();
  readonly #writers = new Map<number, WriterPages>();
  readonly #pages = new KeptPages();
  /** Those that may be ripe (see `isRipe`). */
  readonly ripe = new Set<LoggedJournal>();
  #head: SeenHead | null = null;
  #cuts: Cut[] = [];
  #seals: Seal[] = [];
  #removals = 0;

  constructor(environment: Environment, positionsRipe = POSITIONS_RIPE_DEFAULT) {
    this.#environment = environment;
    this.#positionsRipe = positionsRipe;
  }

  /** X1. @throws Fault storage_damaged; the next look goes on where this one ended. */
  catchUp(): void {
    this.#environment.refresh();
    const bytes = this.#environment.read('log', HEAD_KEY);
    if (bytes === undefined || this.#head?.says(bytes) === true) return; // X2
    const head = new SeenHead(bytes);
    this.#lookForPages();
    for (const cut of this.#cuts) this.#apply(cut);
    for (const { name, journal, lastSeq } of this.#seals) {
      const logged = this.#journals.get(name)?.get(journal);
      if (logged === undefined) continue;
      logged.sealedSeq = lastSeq;
      this.ripe.add(logged);
    }
    this.#cuts = [];
    this.#seals = [];
    this.#head = head;
  }

  find(name: string, journal: string): LoggedJournal | undefined {
    const logged = this.#journals.get(name)?.get(journal);
    if (logged === undefined || logged.checkedAt === this.#removals) return logged;
    this.#drop(logged, (writer, page) => page < this.firstPage(writer)); // X4
    logged.checkedAt = this.#removals;
    return logged.positions.length > 0 ? logged : undefined;
  }

  lastSeq(logged: LoggedJournal): number {
    if (logged.lastSeq === undefined) {
      const { positions } = logged;
      const last = positions.length - 1;
      const page = this.page(positions.writer(last), positions.page(last));
      logged.lastSeq = positions.firstSeq(last) + entriesAt(page, positions.at(last)).count - 1;
    }
    return logged.lastSeq;
  }

  /** Whether it is better read from spans. */
  isRipe(logged: LoggedJournal): boolean {
    const { length } = logged.positions;
    return length >= this.#positionsRipe || (length > 0 && this.isSealed(logged));
  }

  isSealed(logged: LoggedJournal): boolean {
    return logged.sealedSeq === this.lastSeq(logged);
  }

  ids(name: string): string[] {
    const ids = [...(this.#journals.get(name)?.keys() ?? [])];
    return ids.filter((id) => this.find(name, id) !== undefined).sort();
  }

  writers(): Iterable<readonly [writer: number, pages: Readonly<WriterPages>]> {
    return this.#writers;
  }

  /** Above all pages when the log has none of this writer. */
  firstPage(writer: number): number {
    return this.#writers.get(writer)?.first ?? Infinity;
  }

  /** The bytes are lent until the next read: a copy of the page would cost more than an entry of it. @throws Fault storage_damaged when it is not there. */
  page(writer: number, page: number): Buffer {
    const bytes = this.#pages.get(writer, page) ?? this.#environment.read('log', pageKey(writer, page));
    if (bytes === undefined) throw damagedJournal('a page of the log is missing');
    return bytes;
  }

  #lookForPages(): void {
    const present = new Set<number>();
    for (let { lower } = PAGES; ; ) {
      const key = this.#environment.firstKey('log', { lower, upper: PAGES.upper });
      if (key === undefined) break;
      const { writer, page } = pageNumberOf(key);
      present.add(writer);
      this.#takePages(writer, page);
      lower = pageKey(writer + 1, 0);
    }
    for (const writer of this.#writers.keys()) {
      if (present.has(writer)) continue;
      this.#writers.delete(writer);
      this.#removals += 1;
    }
  }

  #takePages(writer: number, first: number): void {
    const pages = this.#writers.get(writer) ?? { first, last: first - 1 };
    this.#writers.set(writer, pages);
    if (pages.first !== first) this.#removals += 1;
    pages.first = first;
    const range = {
      lower: pageKey(writer, Math.max(pages.last + 1, first)),
      upper: pageKey(writer, PAGE_MAX),
    };
    for (const { key, value } of this.#environment.scan('log', range, { fresh: false })) {
      const { page } = pageNumberOf(key);
      readDirectory(value, this.#takerOf(writer, page));
      this.#pages.keep(writer, page, value);
      pages.last = page;
    }
  }

  #takerOf(writer: number, page: number): DirectoryVisitor {
    return {
      entries: (name, journal, firstSeq, count, at, bytes) => {
        const logged = this.#logged(name, journal);
        logged.positions.insert(firstSeq, writer, page, at);
        logged.bytes += bytes;
        if (logged.lastSeq !== undefined) logged.lastSeq = Math.max(logged.lastSeq, firstSeq + count - 1);
        if (logged.positions.length === this.#positionsRipe) this.ripe.add(logged);
      },
      sealed: (name, journal, lastSeq) => {
        this.#seals.push({ name, journal, lastSeq });
      },
      cut: (name, journal, through) => {
        this.#cuts.push({ name, journal, through });
      },
    };
  }

  #logged(name: string, journal: string): LoggedJournal {
    let journals = this.#journals.get(name);
    if (journals === undefined) {
      journals = new Map();
      this.#journals.set(name, journals);
    }
    let logged = journals.get(journal);
    if (logged === undefined) {
      const checkedAt = this.#removals;
      logged = { name, journal, positions: new Positions(), bytes: 0, lastSeq: 0, sealedSeq: 0, checkedAt };
      journals.set(journal, logged);
    }
    return logged;
  }

  #apply({ name, journal, through }: Cut): void {
    const logged = this.#journals.get(name)?.get(journal);
    if (logged === undefined) return;
    const last = new Map(through.map(({ writer, page }) => [writer, page]));
    this.#drop(logged, (writer, page) => page <= (last.get(writer) ?? 0));
  }

  #drop(logged: LoggedJournal, isVoid: (writer: number, page: number) => boolean): void {
    const { positions, name, journal } = logged;
    const before = positions.length;
    positions.drop(isVoid);
    if (positions.length === before) return;
    logged.bytes *= positions.length / before;
    logged.lastSeq = undefined;
    if (positions.length > 0) return;
    this.ripe.delete(logged);
    this.#journals.get(name)?.delete(journal);
  }
}

interface KeptPage {
  readonly writer: number;
  readonly number: number;
  readonly page: Buffer;
}

/**
 * The newest pages, each in the one place that it may have; what comes takes the place of what was there, and nothing old is held
 * (std/chain.ts says why a Map would not do).
 */
class KeptPages {
  readonly #pages: (KeptPage | null)[] = new Array(WRITERS_KEPT * PAGES_KEPT).fill(null);

  get(writer: number, number: number): Buffer | null {
    const kept = this.#pages[placeOf(writer, number)];
    return kept?.writer === writer && kept.number === number ? kept.page : null;
  }

  keep(writer: number, number: number, page: Buffer): void {
    this.#pages[placeOf(writer, number)] = { writer, number, page };
  }
}

/** Threads that started together have consecutive numbers, and write at the same pace. */
function placeOf(writer: number, number: number): number {
  return (writer % WRITERS_KEPT) * PAGES_KEPT + (number % PAGES_KEPT);
}
