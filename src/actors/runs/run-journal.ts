// RunJournal: the writing end of one run's journal.
// J1 Events get their numbers in the order in which they are said, and are published only when they are committed (R2).
// J2 What is said while a commit is under way goes into the next one: one commit at a time, however fast the model is.
// J3 At most PENDING_CHARS_MAX characters wait for a commit; a producer asks `hasRoom` and waits on `flushed` otherwise.
// J4 After a commit that failed for good nothing more is written: what came later would leave a gap in the numbers. (What
//    fails for now is not this file's business: see patience.ts.)

import type { Journals } from '../../storage/contract.ts';
import { isQuiet, type JournaledEvent, type RunEvents, type Say } from './events.ts';

const PENDING_CHARS_MAX = 1_000_000;

export class RunJournal {
  readonly #run: string;
  readonly #journals: Pick<Journals<JournaledEvent>, 'append'>;
  readonly #publish: (seq: number) => void;
  readonly #onFailed: (error: unknown) => void;
  #seqSaid: number;
  #seqPublished: number;
  #seqShown = 0;
  #pending: JournaledEvent[] = [];
  #pendingChars = 0;
  /** The commit that is under way. */
  #commit: Promise<void> | null = null;
  #hasFailed = false;

  /**
   * `publish` hears of each commit: everything up to that number can be read. `onFailed` ends the run. What is said goes on
   * behind `journaledSeq`, the last number that another writer gave.
   */
  constructor(
    run: string,
    journals: Pick<Journals<JournaledEvent>, 'append'>,
    publish: (seq: number) => void,
    onFailed: (error: unknown) => void,
    journaledSeq = 0,
  ) {
    this.#run = run;
    this.#journals = journals;
    this.#publish = publish;
    this.#onFailed = onFailed;
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
    return this.#commit === null;
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
    while (this.#seqPublished < upTo && this.#commit !== null) await this.#commit;
  }

  /** For what must not be done unless everything said before it is kept. @throws when it could not be */
  async saved(): Promise<void> {
    await this.flushed();
    if (this.#hasFailed) throw new Error('the journal of this run could not be written');
  }

  #append<Name extends keyof RunEvents>(event: Name, payload: RunEvents[Name]): void {
    if (this.#hasFailed) return; // J4
    const data = JSON.stringify(payload);
    this.#seqSaid += 1;
    if (!isQuiet([event, data])) this.#seqShown = this.#seqSaid;
    this.#pending.push([event, data]);
    this.#pendingChars += data.length;
    this.#commit ??= this.#commitPending();
  }

  /** Never rejects. */
  async #commitPending(): Promise<void> {
    // What else is said in this turn of the event loop joins the same commit.
    await Promise.resolve();
    const events = this.#pending;
    this.#pending = [];
    this.#pendingChars = 0;
    try {
      await this.#journals.append(this.#run, this.#seqPublished + 1, events);
      this.#seqPublished += events.length;
      this.#publish(this.#seqPublished);
    } catch (error) {
      this.#hasFailed = true;
      this.#pending = [];
      this.#onFailed(error);
    }
    this.#commit = this.#pending.length > 0 ? this.#commitPending() : null;
  }
}
