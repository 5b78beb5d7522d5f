// JournalWriter: commits what the runs of one thread say, all of them together.
// G1 One commit at a time. What is said meanwhile, by whichever run, goes into the next one.
// G2 A commit takes at most COMMIT_CHARS_MAX characters, and the runs in the order in which they began to wait.
// G3 What is refused for now is tried again as `patience` says, and fails for all of the commit when that is at its end; at once for
//    runs that are ending: nobody can wait for those.
// G4 What is refused for good is tried run by run: a bug in one of them does not reach the others.
//
// What the profile said: with a commit for each run, an event made half a dozen promises and closures, all of which lived until
// its commit. With thousands of runs that is too long for a young generation, and V8 marked the old one all the time.

import { isFault } from '../../std/errors.ts';
import type { JournalAppend, Journals } from '../../storage/contract.ts';
import type { JournaledEvent } from './events.ts';

const COMMIT_CHARS_MAX = 4_000_000;

/** A journal that has something to commit. */
export interface Committing {
  /** Nobody waits for it any more. */
  readonly isEnding: boolean;
  /** How much waits. */
  readonly pendingChars: number;
  /** What waits, from now on to be settled by `committed` or `failed`. */
  take(): JournalAppend<JournaledEvent>;
  /** So many of the events that were taken can be read. */
  committed(count: number): void;
  failed(error: unknown): void;
}

interface Taken {
  readonly journal: Committing;
  readonly append: JournalAppend<JournaledEvent>;
}

export class JournalWriter {
  readonly #journals: Pick<Journals<JournaledEvent>, 'appendAll'>;
  readonly #patience: (save: () => Promise<void>) => Promise<void>;
  #waiting: Committing[] = [];
  #isWriting = false;

  constructor(
    journals: Pick<Journals<JournaledEvent>, 'appendAll'>,
    patience: (save: () => Promise<void>) => Promise<void> = (save) => save(),
  ) {
    this.#journals = journals;
    this.#patience = patience;
  }

  /** It is asked for what it has when its turn comes. Called again only when that is settled. */
  join(journal: Committing): void {
    this.#waiting.push(journal);
    if (!this.#isWriting) void this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    // What else is said in this turn of the event loop joins the same commit.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#takeNext());
    this.#isWriting = false;
  }

  /** G2. */
  #takeNext(): readonly Taken[] {
    let count = 0;
    for (let chars = 0; count < this.#waiting.length; count += 1) {
      chars += this.#waiting[count]?.pendingChars ?? 0;
      if (count > 0 && chars > COMMIT_CHARS_MAX) break;
    }
    const rest = this.#waiting.slice(count);
    const next = this.#waiting.slice(0, count);
    this.#waiting = rest;
    return next.map((journal) => ({ journal, append: journal.take() }));
  }

  async #commit(taken: readonly Taken[]): Promise<void> {
    let left = taken;
    const save = async (): Promise<void> => {
      try {
        await this.#journals.appendAll(left.map(({ append }) => append));
      } catch (error) {
        for (const { journal } of left) if (journal.isEnding) journal.failed(error); // G3
        left = left.filter(({ journal }) => !journal.isEnding);
        if (left.length > 0) throw error;
      }
    };
    try {
      await this.#patience(save);
      for (const { journal, append } of left) journal.committed(append.values.length);
    } catch (error) {
      const isOver = left.length === 1 || (isFault(error) && error.retryable);
      if (isOver)
        for (const { journal } of left) journal.failed(error); // G3
      else for (const one of left) await this.#commit([one]); // G4
    }
  }
}
