// Leftovers: what the oldest pages of the log still hold that somebody wants.
// Entries are wanted while their journal has them there, a seal while its journal waits, a cut while one of the pages that it
// speaks of is left: without it these would be taken for wanted when the log is read anew.

import type { JournalIndex, LoggedJournal } from './journal-index.ts';
import { readDirectory } from './journal-page.ts';

export function wantsNothing(index: JournalIndex, writer: number, page: number): boolean {
  let isWanted = false;
  readDirectory(index.page(writer, page), {
    entries(name, journal, firstSeq, _count, at) {
      isWanted ||= index.find(name, journal)?.positions.has({ firstSeq, writer, page, at }) ?? false;
    },
    sealed(name, journal) {
      const logged = index.find(name, journal);
      isWanted ||= logged !== undefined && index.isSealed(logged);
    },
    cut(_name, _journal, through) {
      isWanted ||= through.some((last) => index.firstPage(last.writer) <= last.page);
    },
  });
  return !isWanted;
}

/** Journals with entries in the oldest pages of the writers, in turn; each may come more than once. */
export function* journalsInOldestPages(index: JournalIndex): Iterable<LoggedJournal> {
  const writers = Array.from(index.writers(), ([writer, { first, last }]) => ({ writer, first, last }));
  const pagesMax = Math.max(0, ...writers.map(({ first, last }) => last - first + 1));
  for (let offset = 0; offset < pagesMax; offset += 1) {
    for (const { writer, first, last } of writers) {
      if (first + offset <= last) yield* journalsIn(index, writer, first + offset);
    }
  }
}

function journalsIn(index: JournalIndex, writer: number, page: number): Iterable<LoggedJournal> {
  const journals = new Set<LoggedJournal>();
  readDirectory(index.page(writer, page), {
    entries(name, journal) {
      const logged = index.find(name, journal);
      if (logged !== undefined) journals.add(logged);
    },
    sealed() {},
    cut() {},
  });
  return journals;
}
