// RunJournal: the writing end of one run's journal.
// J1 Events get their numbers in the order in which they are said, and are published only when they are committed (R2).
// J2 What is said while a commit is under way goes into the next one: one commit at a time, however fast the model is.
// J3 At most PENDING_CHARS_MAX characters wait for a commit; a producer asks `hasRoom` and waits on `flushed` otherwise.

import type { Journals } from '../../storage/contract.ts';
import type { JournaledEvent, RunEvents, Say } from './events.ts';

const PENDING_CHARS_MAX = 1_000_000;

export class RunJournal {
  readonly #run: string;
  readonly #journals: Journals<JournaledEvent>;
  readonly #publish: (seq: number) => void;
  readonly #onFailed: (error: unknown) => void;
  #seqNext = 1;
  #pending: JournaledEvent[] = [];
  #pendingChars = 0;
  #writing: Promise<void> | null = null;

  /** `publish` hears of each commit: everything up to that number can be read. `onFailed` ends the run. */
  constructor(
    run: string,
    journals: Journals<JournaledEvent>,
    publish: (seq: number) => void,
    onFailed: (error: unknown) => void,
  ) {
    this.#run = run;
    this.#journals = journals;
    this.#publish = publish;
    this.#onFailed = onFailed;
  }

  readonly say: Say = (event, payload) => this.#append(event, payload);

  get hasRoom(): boolean {
    return this.#pendingChars < PENDING_CHARS_MAX;
  }

  /** Resolves when all that was said is committed and published, or when that has failed (see `onFailed`). */
  async flushed(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  #append<Name extends keyof RunEvents>(event: Name, payload: RunEvents[Name]): void {
    const data = JSON.stringify(payload);
    this.#pending.push([event, data]);
    this.#pendingChars += data.length;
    this.#writing ??= this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    try {
      // What else is said in this turn of the event loop joins the same commit.
      await Promise.resolve();
      while (this.#pending.length > 0) {
        const events = this.#pending;
        const firstSeq = this.#seqNext;
        this.#pending = [];
        this.#pendingChars = 0;
        this.#seqNext += events.length;
        await this.#journals.append(this.#run, firstSeq, events);
        this.#publish(this.#seqNext - 1);
      }
    } catch (error) {
      this.#onFailed(error);
    } finally {
      this.#writing = null;
    }
  }
}
