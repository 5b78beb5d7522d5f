// Steps: the points from which a turn can go on without doing anything twice, one before every model call but the first.
// K1 A step is saved when every event before it is committed, and before the model is called again: what the journal holds
//    behind the last step belongs to work that was not finished.
// K2 A step holds what came since the one before: messages, transcript. Together they are what the turn has in memory.
// K3 A turn that calls no tool, and is not steered, has no steps and costs none.
// Steps lie in journals of their own rather than in the run's: readers would see gaps in the numbers.

import type { Journals } from '../../storage/contract.ts';
import type { ModelMessage } from '../providers/protocol.ts';
import { patiently } from './patience.ts';
import type { TranscriptGain } from './transcript.ts';
import type { TurnScope } from './turn-scope.ts';
import type { UsageCounts } from './usage.ts';

export interface RunStep {
  /** The number of the last event that was said before it. */
  readonly seq: number;
  readonly taskId: string;
  /** When the turn began, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The model that `start` named, as `provider:model`. */
  readonly model: string;
  /** What the prompt gained. */
  readonly messages: readonly ModelMessage[];
  readonly transcript: TranscriptGain;
  /** Of the whole turn so far. */
  readonly usage: UsageCounts;
  readonly loop: LoopState;
}

/** Where the tool loop stands. */
export interface LoopState {
  /** Rounds with tools so far. */
  readonly rounds: number;
  readonly isToldToAnswer: boolean;
  /** An answer that hit its output limit has been continued. */
  readonly continued: boolean;
}

export const LOOP_BEGINS: LoopState = { rounds: 0, isToldToAnswer: false, continued: false };

const READ_BYTES = 1_000_000;

/** The writing end of one run's steps. */
export class StepLog {
  readonly #run: string;
  readonly #steps: Pick<Journals<RunStep>, 'append'>;
  #count: number;
  #lastSeq: number;

  /** Goes on behind the steps that an earlier life of the run has saved. */
  constructor(run: string, steps: Pick<Journals<RunStep>, 'append'>, saved: readonly RunStep[]) {
    this.#run = run;
    this.#steps = steps;
    this.#count = saved.length;
    this.#lastSeq = saved.at(-1)?.seq ?? 0;
  }

  /** The number of the last event before the last step; 0 before the first one. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** K1. @throws what storage refuses for good */
  async save(
    turn: TurnScope,
    model: string,
    messages: readonly ModelMessage[],
    loop: LoopState,
  ): Promise<void> {
    const { journal, taskId, startedAtMs, transcript, usage } = turn;
    // All of it in one breath: a steer that is accepted from now on comes behind this step.
    const step: RunStep = {
      seq: journal.seqSaid,
      taskId,
      startedAtMs,
      model,
      messages,
      transcript: transcript.takeGain(),
      usage: usage.counts(),
      loop,
    };
    await journal.saved();
    await patiently(turn.context, () => this.#steps.append(this.#run, this.#count + 1, [step]));
    this.#count += 1;
    this.#lastSeq = step.seq;
  }
}

export function readSteps(steps: Journals<RunStep>, run: string): readonly RunStep[] {
  const read: RunStep[] = [];
  for (;;) {
    const entries = steps.read(run, read.length, { bytesMax: READ_BYTES });
    if (entries.length === 0) return read;
    read.push(...entries.map(({ value }) => value));
  }
}

export function lastStep(steps: Journals<RunStep>, run: string): RunStep | undefined {
  const count = steps.lastSeq(run);
  return count === 0 ? undefined : steps.read(run, count - 1)[0]?.value;
}
