// RunJournal: the writing end of one run's journal.
// J1 Events get their numbers in the order in which they are said, and are published only when they are committed (R2).
// J2 What is said while a commit is under way goes into the next one, together with what other runs have said (journal-writer.ts).
// J3 At most PENDING_CHARS_MAX characters wait for a commit; a producer asks `hasRoom` and waits on `flushed` otherwise.
// J4 After a commit that failed for good nothing more is written: what came later would leave a gap in the numbers.
// J5 Whoever writes on behind a run that has ended closes its journal first: what was on its way would bear the same numbers.

import type { JournalAppend } from '../../storage/contract.ts';
import { isQuiet, type JournaledEvent, type RunEvents, type Say } from './events.ts';
import type { Committing, JournalWriter } from './journal-writer.ts';

const PENDING_CHARS_MAX = 1_000_000;

export interface RunJournalOptions {
  readonly run: string;
  readonly writer: Pick<JournalWriter, 'join'>;
  /** Hears of each commit: everything up to that number can be read. */
  readonly publish: (seq: number) => void;
  /** Ends the run. */
  readonly onFailed: (error: unknown) => void;
  /** The last number that another writer gave: what is said goes on behind it. */
  readonly journaledSeq?: number;
  /** Aborted when the run is ending. */
  readonly signal?: AbortSignal;
}

export class RunJournal implements Committing {
  readonly #options: RunJournalOptions;
  #seqSaid: number;
  #seqPublished: number;
  #seqShown = 0;
  #pending: JournaledEvent[] = [];
  #pendingChars = 0;
  /** Something waits for its commit, or is being committed. */
  #isWriting = false;
  #hasFailed = false;
  #isClosed = false;
  /** Of those who wait for a commit, which few do. */
  #nextCommit: PromiseWithResolvers<void> | null = null;

  constructor(options: RunJournalOptions) {
    const { journaledSeq = 0 } = options;
    this.#options = options;
    this.#seqSaid = journaledSeq;
    this.#seqPublished = journaledSeq;
  }

  readonly say: Say = (event, payload) => this.#append(event, payload);

  /** The number of the last event, committed or not. */
  get seqSaid(): number {
    return this.#seqSaid;
  }

  /** Nothing is being committed. */
  get isIdle(): boolean {
    return !this.#isWriting;
  }

  /** The number of the last event that was not quiet; 0 when this writer said none. */
  get seqShown(): number {
    return this.#seqShown;
  }

  get hasRoom(): boolean {
    return this.#pendingChars < PENDING_CHARS_MAX;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Resolves when all that was said before this call is published, or when that has failed (see `onFailed`). */
  async flushed(): Promise<void> {
    const upTo = this.#seqSaid;
    while (this.#seqPublished < upTo && this.#isWriting) {
      this.#nextCommit ??= Promise.withResolvers<void>();
      await this.#nextCommit.promise;
    }
  }

  /** J5. Resolves when nothing of it is on its way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flushed();
  }

  /** For what must not be done unless everything said before it is kept. @throws when it could not be */
  async saved(): Promise<void> {
    await this.flushed();
    if (this.#hasFailed) throw new Error('the journal of this run could not be written');
  }

  get isEnding(): boolean {
    return this.#options.signal?.aborted === true;
  }

  get pendingChars(): number {
    return this.#pendingChars;
  }

  take(): JournalAppend<JournaledEvent> {
    const values = this.#pending;
    this.#pending = [];
    this.#pendingChars = 0;
    return { journal: this.#options.run, firstSeq: this.#seqPublished + 1, values };
  }

  committed(count: number): void {
    this.#seqPublished += count;
    this.#isWriting = this.#pending.length > 0;
    if (this.#isWriting) this.#options.writer.join(this);
    this.#options.publish(this.#seqPublished);
    this.#tellNextCommit();
  }

  failed(error: unknown): void {
    this.#hasFailed = true;
    this.#pending = [];
    this.#isWriting = false;
    this.#options.onFailed(error);
    this.#tellNextCommit();
  }

  #append<Name extends keyof RunEvents>(event: Name, payload: RunEvents[Name]): void {
    if (this.#hasFailed || this.#isClosed) return; // J4, J5
    const data = JSON.stringify(payload);
    this.#seqSaid += 1;
    if (!isQuiet([event, data])) this.#seqShown = this.#seqSaid;
    this.#pending.push([event, data]);
    this.#pendingChars += data.length;
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#options.writer.join(this);
  }

  #tellNextCommit(): void {
    this.#nextCommit?.resolve();
    this.#nextCommit = null;
  }
}
