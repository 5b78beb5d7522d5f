// ReaderProcess: thousands of readers of a run in a process of their own (reader-child.ts), as their parent sees them.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What the process can be asked: one question at a time, each answered when it is done. */
export interface ReaderQuestions {
  /** So many more readers, and each has read something; answers the highest number that one has read. */
  attach(order: ReadersOrder): number;
  /** So many that ask and then read nothing. */
  attachStopped(order: ReadersOrder): void;
  /** What comes from now on is counted; says when which event is due, so that its lateness can be told. */
  expect(due: Due): void;
  /** Waits until all readers have come to their end, the stopped ones left aside. */
  finish(): Finish;
  /** The stopped ones read on, and are waited for. */
  finishStopped(): Finish;
  /** Reads a finished run from its start, once after the other. */
  replay(order: { readonly port: number; readonly runId: string; readonly rounds: number }): Replay;
}

export interface ReadersOrder {
  readonly port: number;
  readonly runId: string;
  readonly count: number;
}

export interface Due {
  readonly firstSeq: number;
  /** Wall clock. */
  readonly firstAtMs: number;
  readonly everyMs: number;
}

export interface Finish {
  /** By all readers together, since `expect`. */
  readonly eventCount: number;
  /** Wall clock, when the last of them was through. */
  readonly endedAtMs: number;
  /** The number of the last event, of the reader that got least. */
  readonly lastSeqLowest: number;
  readonly flaws: readonly string[];
  /** Of a sample of the readers, in ascending order. */
  readonly latenessMs: readonly number[];
  /** Of this process since it began. */
  readonly cpuSeconds: number;
}

export interface Replay {
  readonly firstByteMs: readonly number[];
  readonly wholeMs: readonly number[];
  readonly lastSeqLowest: number;
  readonly flaws: readonly string[];
}

type Question = keyof ReaderQuestions;
type OrderOf<Name extends Question> = Parameters<ReaderQuestions[Name]>;
type AnswerTo<Name extends Question> = ReturnType<ReaderQuestions[Name]>;

export interface ReaderProcess {
  ask<Name extends Question>(name: Name, ...order: OrderOf<Name>): Promise<AnswerTo<Name>>;
  stop(): Promise<void>;
}

export function startReaderProcess(): ReaderProcess {
  const child = fork(fileURLToPath(new URL('./reader-child.ts', import.meta.url)), { execArgv: [] });
  const ended = once(child, 'exit');
  return {
    async ask<Name extends Question>(name: Name, ...order: OrderOf<Name>) {
      const gone = ended.then(() => {
        throw new Error('the process of the readers ended');
      });
      const answered = once(child, 'message');
      child.send([name, ...order]);
      const [{ answer }] = (await Promise.race([answered, gone])) as [{ readonly answer: AnswerTo<Name> }];
      return answer;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
