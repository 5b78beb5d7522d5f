// Prelude: what is said of a run before it begins, and the messages that are sent into it meanwhile.
// L1 Its journal has one writer after the other: the run begins when all of this is written, and goes on from its last number.
// L2 A steer is accepted when it is journaled, so that it is folded in whatever happens before the run begins.
// L3 What could not be written is not there: a steer is refused, a status is missed; the run may begin nevertheless.

import type { Journals } from '../../storage/contract.ts';
import type { JournaledEvent } from './events.ts';
import { JournalWriter } from './journal-writer.ts';
import type { RunOrder, Steer } from './protocol.ts';
import { RunJournal } from './run-journal.ts';
import { Steering } from './steering.ts';

/** What the run that begins goes on from. */
export type HandOver = Pick<RunOrder, 'journaledSeq' | 'steers'>;

export const NOTHING_SAID: HandOver = { journaledSeq: 0, steers: [] };

export class Prelude {
  readonly #run: string;
  readonly #journals: Journals<JournaledEvent>;
  readonly #publish: () => void;
  readonly #steering: Steering;
  #journaledSeq: number;
  /** None as long as nothing is said, which is the rule. */
  #journal: RunJournal | null = null;
  #failure: unknown;

  /** `publish` hears of each commit. `before`: what stood in the journal of a run that begins again. */
  constructor(run: string, journals: Journals<JournaledEvent>, publish: () => void, before: HandOver) {
    this.#run = run;
    this.#journals = journals;
    this.#publish = publish;
    this.#journaledSeq = before.journaledSeq;
    this.#steering = new Steering(before.steers);
  }

  get isWritten(): boolean {
    return this.#journal === null || this.#journal.isIdle;
  }

  /** Resolves when nothing is being written for the moment. */
  async written(): Promise<void> {
    while (!this.isWritten) await this.#journal?.flushed();
  }

  queued(detail: string): void {
    this.#writer().say('status', { phase: 'queued', label: 'Queued…', detail });
  }

  /** L2. @throws run_not_active, steers_full, or what storage refused */
  async steer(steer: Steer): Promise<void> {
    this.#steering.accept(steer);
    const journal = this.#writer();
    journal.say('steer', { id: steer.id, message: steer.message });
    await journal.flushed();
    if (!journal.hasFailed) return;
    this.#steering.drop(steer.id); // L3
    throw this.#failure;
  }

  /** The run begins, or ends without having begun: nothing more is said here. Call it when all is written (L1). */
  close(): HandOver {
    this.#steering.close();
    return { journaledSeq: this.#writtenSeq(), steers: this.#steering.take() };
  }

  #writtenSeq(): number {
    if (this.#journal === null) return this.#journaledSeq;
    return this.#journal.hasFailed ? this.#journals.lastSeq(this.#run) : this.#journal.seqSaid;
  }

  #writer(): RunJournal {
    if (this.#journal !== null && !this.#journal.hasFailed) return this.#journal;
    this.#journaledSeq = this.#writtenSeq();
    this.#journal = new RunJournal({
      run: this.#run,
      writer: new JournalWriter(this.#journals),
      publish: this.#publish,
      onFailed: (error) => {
        this.#failure = error;
      },
      journaledSeq: this.#journaledSeq,
    });
    return this.#journal;
  }
}
