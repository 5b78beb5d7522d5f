// JournalTail: follows journals that are still being written, on the thread of the readers.
// D1 Joining replay and live tail leaves no gap and repeats nothing: what a reader is given begins behind its cursor, whoever
//    else is given the same, and it waits from the moment in which it finds nothing more.
// D2 Whoever hears of a commit calls `wake`: the writer may live on another thread, whose commits are seen here at once (S1).
// D3 Readers are served in turn: whoever has been given a batch comes after all that wait for theirs, and gets then what has
//    gathered. A turn of the event loop serves READERS_PER_TURN; journals take turns too, however many readers one has.
// D4 The closing entry of a journal is shown when the journal is no longer open.
//
// What the profile said: with 5,000 readers of one journal, two thirds of the thread's time went into reading and decoding the
// same entries for each of them. So a batch is read once for all who stand at the same number, where D3 keeps them together.

import { Chain } from '../std/chain.ts';
import { type AfterTurn, afterTurn } from '../std/event-loop.ts';
import type { JournalEntry, Journals } from './contract.ts';
import { type Attendance, FollowedJournal } from './followed-journal.ts';
import { type Batch, JournalReader } from './journal-reader.ts';

/** One batch: what a reader handles in one go. One that has stopped holds a few: entries cost memory beside their bytes. */
const BATCH_BYTES_MAX = 8_192;
const BATCH_ENTRIES_MAX = 128;
/** Some two milliseconds of writing to sockets. */
const READERS_PER_TURN = 128;
/** Of all journals together: one that many readers follow needs one or two at a time. */
const SHARED_BATCHES_MAX = 64;

export interface JournalTailOptions<Value, Item> {
  /** What readers get of an entry; made once for all who are given the same batch, so they must not change it. */
  readonly show: (entry: JournalEntry<Value>) => Item;
  /** True of an entry that is the last of its journal (D4). */
  readonly isClosing?: (value: Value) => boolean;
  readonly afterTurn?: AfterTurn;
}

export class JournalTail<Value, Item> {
  readonly #journals: Journals<Value>;
  readonly #show: (entry: JournalEntry<Value>) => Item;
  readonly #isClosing: (value: Value) => boolean;
  readonly #afterTurn: AfterTurn;
  readonly #followed = new Map<string, FollowedJournal<Item>>();
  /** Journals with readers that are ready, in the order of their turns. */
  readonly #queue = new Chain<FollowedJournal<Item>>();
  /** Read for one of several readers; by number and journal, oldest first. */
  readonly #shared = new Map<string, Batch<Item>>();
  #budget = READERS_PER_TURN;
  /** In a microtask, or in the next turn when the budget is spent. */
  #isServingDue = false;
  #isTurnAwaited = false;

  constructor(journals: Journals<Value>, options: JournalTailOptions<Value, Item>) {
    this.#journals = journals;
    this.#show = options.show;
    this.#isClosing = options.isClosing ?? (() => false);
    this.#afterTurn = options.afterTurn ?? afterTurn;
  }

  /** Entries up to `lastSeq` were committed; without a number: something was, or the journal was closed. */
  wake(journal: string, lastSeq: number | null = null): void {
    this.#followed.get(journal)?.wake(lastSeq);
  }

  /** Entries after `afterSeq`, oldest first, in batches; ends when the journal is no longer open and all is read. */
  follow(
    journal: string,
    afterSeq: number,
    isOpen: () => boolean,
    signal?: AbortSignal,
  ): JournalReader<Item> {
    const followed = this.#followed.get(journal) ?? new FollowedJournal(journal, this.#attendance);
    this.#followed.set(journal, followed);
    followed.readerCount += 1;
    const reader = new JournalReader(afterSeq, isOpen, followed);
    if (signal !== undefined) reader.obey(signal);
    return reader;
  }

  readonly #attendance: Attendance<Item> = {
    read: (followed, afterSeq, isOpen) => this.#read(followed, afterSeq, isOpen),
    queue: (followed) => {
      if (!this.#queue.has(followed)) this.#queue.push(followed);
      if (this.#isServingDue) return;
      this.#isServingDue = true;
      // What is told in one go is read in one go, and nobody's consumer runs inside of whoever tells it.
      queueMicrotask(this.#serve);
    },
    forget: (followed) => {
      this.#followed.delete(followed.id);
      if (this.#queue.has(followed)) this.#queue.remove(followed);
    },
  };

  /** D3. */
  readonly #serve = (): void => {
    while (this.#budget > 0) {
      const followed = this.#queue.shift();
      if (followed === null) break;
      this.#budget -= followed.serve(this.#budget);
      if (followed.hasReady && !this.#queue.has(followed)) this.#queue.push(followed);
    }
    this.#isServingDue = this.#queue.first !== null;
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    this.#afterTurn(() => {
      this.#isTurnAwaited = false;
      this.#budget = READERS_PER_TURN;
      if (this.#queue.first !== null) this.#serve();
    });
  };

  #read(followed: FollowedJournal<Item>, afterSeq: number, isOpen: boolean): Batch<Item> | null {
    if (followed.readerCount === 1) return this.#readAfter(followed.id, afterSeq, isOpen);
    const key = `${afterSeq} ${followed.id}`;
    const shared = this.#shared.get(key);
    if (shared !== undefined) return shared;
    const batch = this.#readAfter(followed.id, afterSeq, isOpen);
    if (batch !== null) this.#share(key, batch);
    return batch;
  }

  #share(key: string, batch: Batch<Item>): void {
    this.#shared.set(key, batch);
    if (this.#shared.size <= SHARED_BATCHES_MAX) return;
    const [oldest] = this.#shared.keys();
    if (oldest !== undefined) this.#shared.delete(oldest);
  }

  #readAfter(journal: string, afterSeq: number, isOpen: boolean): Batch<Item> | null {
    const entries = this.#journals.read(journal, afterSeq, {
      bytesMax: BATCH_BYTES_MAX,
      entriesMax: BATCH_ENTRIES_MAX,
    });
    const isHeldBack = ({ value }: JournalEntry<Value>): boolean => isOpen && this.#isClosing(value); // D4
    const shown = entries.filter((entry) => !isHeldBack(entry));
    const last = shown.at(-1);
    return last === undefined ? null : { items: shown.map(this.#show), lastSeq: last.seq };
  }
}
