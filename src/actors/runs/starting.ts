// Starting: how runs begin. Takes from the admission whose turn it is, and hands it to a host.
// T1 A run begins when all that was said of it before is written: its journal has one writer after the other.
// T2 As long as no host takes runs, they wait. One that was chosen already waits again, before the others.
// T3 However many may begin at once (a limit was raised, a host is back), this thread serves others in between.
// T4 That a lost run begins again is counted before it does (RESUMES_MAX).

import { present } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { Desk } from './desk.ts';
import type { LiveRun, RunHostEntry } from './directory.ts';
import { type HandOver, Prelude } from './prelude.ts';
import { type EphemeralTurn, type RunOrder, runHost } from './protocol.ts';
import { countResume } from './recovery.ts';
import type { RunRecord } from './store.ts';

/** A thread that does not take a run for so long is stuck, and has been ended by the kernel before. */
const BEGIN_DEADLINE_MS = 60_000;
/** T3. Some milliseconds' worth. */
const STARTS_AT_ONCE_MAX = 64;
/** A host whose mail is full, or a disk, is tried again after so long. */
const FULL_RETRY_MS = 50;

export interface Starting {
  /** Starts the runs that may begin now. */
  startNext(): void;
  /** A run that was lost waits again, before the others, to go on from where its journal stands. `isCounted`: see T4. */
  beginAnew(run: LiveRun, before: HandOver, isCounted: boolean): void;
}

/** `onPutBack`: a run that was live waits again. */
export function startingOf(
  desk: Desk,
  lose: (run: LiveRun, reason: string) => void,
  onPutBack: () => void,
): Starting {
  const { context, store, admission, directory, readers } = desk;

  const startNext = (): void => {
    for (let count = 0; directory.freestHost() !== undefined; count += 1) {
      if (count === STARTS_AT_ONCE_MAX) {
        context.after('start', 0, startNext); // T3
        return;
      }
      const turn = admission.next();
      if (turn === undefined) return;
      start(turn.runId);
    }
  };

  const waitAgain = (run: LiveRun, before: HandOver, isCounted: boolean): void => {
    const { runId } = run;
    const prelude = new Prelude(runId, store.journals, () => readers.wake(runId), before);
    directory.put({ ...run, where: { at: 'desk', prelude, isCounted } });
    admission.accepted(runId);
    admission.putBack(runId);
    onPutBack();
  };

  const start = (runId: string): void => {
    const run = directory.find(runId);
    // Cancelled while its journal was being written.
    if (run?.where.at !== 'desk' || directory.isSettling(runId)) return;
    const { prelude } = run.where;
    if (!prelude.isWritten) {
      context.pipe(prelude.written(), () => start(runId)); // T1
      return;
    }
    const host = directory.freestHost();
    if (host === undefined || admission.isClosed) {
      admission.putBack(runId); // T2
      onPutBack();
      return;
    }
    if (run.where.isCounted) {
      count(run, run.where);
      return;
    }
    const record = present(store.records.get(runId), 'the record of an accepted run');
    const order: RunOrder = { ...orderOf(record), earlier: earlierTurns(record), ...prelude.close() };
    const started: LiveRun = { ...run, where: { at: 'host', host: host.address } };
    directory.put(started);
    begin(started, order, host);
  };

  /** T4. */
  const count = (run: LiveRun, where: LiveRun['where'] & { readonly at: 'desk' }): void => {
    const { runId } = run;
    directory.put({ ...run, where: { ...where, isCounted: false } });
    context.pipe(
      countResume(context, store, runId),
      () => start(runId),
      (error) => {
        if (!isFault(error) || !error.retryable) throw error;
        directory.put({ ...run, where });
        admission.putBack(runId);
        context.after('start', FULL_RETRY_MS, startNext);
      },
    );
  };

  const begin = (run: LiveRun, order: RunOrder, { address }: RunHostEntry): void => {
    const begun = context.refTo(runHost, address).ask('begin', order, { deadlineMs: BEGIN_DEADLINE_MS });
    context.pipe(
      begun,
      () => undefined,
      (error) => {
        if (isFault(error, 'mailbox_full')) {
          waitAgain(run, order, false); // T2
          context.after('start', FULL_RETRY_MS, startNext);
          return;
        }
        // A host that has ended is watched: its runs are settled when all that lived on it is gone.
        if (!isFault(error, 'actor_terminated')) lose(run, 'The run host did not take the run');
      },
    );
  };

  /** Read now, when the turns before it are over. */
  const earlierTurns = ({ request, session_id }: RunRecord): readonly EphemeralTurn[] =>
    request.use_memory === false
      ? (request.earlier ?? desk.sessions.turns(session_id, context.clock.nowMs()))
      : [];

  return {
    startNext,
    beginAnew(run, before, isCounted) {
      waitAgain(run, before, isCounted);
      startNext();
    },
  };
}

function orderOf(record: RunRecord): Omit<RunOrder, 'earlier' | 'journaledSeq' | 'steers'> {
  const { run_id, user_id, session_id, request, createdAtMs } = record;
  return { run_id, user_id, session_id, request, acceptedAtMs: createdAtMs };
}
