// Endings: how runs leave the directory. Reported by their hosts, lost with them, or ended before they began (R5).
// D1 A run is settled by one only, again and again until it is saved, and counts as live as long.

import { present } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { Desk } from './desk.ts';
import type { LiveRun } from './directory.ts';
import type { EndedRun, RunOutcome } from './protocol.ts';
import { type Loss, type LostEnd, settleRecord, settleRun, type TakenUp, takeUp } from './recovery.ts';
import type { Starting } from './starting.ts';
import type { RunRecord } from './store.ts';

/** A settlement that could not be saved (a full disk, an owner that restarts) is tried again after so long. */
const SETTLE_RETRY_MS = 1_000;

export interface Endings {
  /** Its host says how it ended; its rows and events are saved. */
  settled(ended: EndedRun): void;
  /** Nobody runs it any more: it begins anew, or is settled. `onTried` is called when one of them was done, or is put off. */
  takeUp(run: LiveRun, loss: Loss, beginAnew: Starting['beginAnew'], onTried: () => void): void;
  /** The next start goes on with it. */
  leave(run: LiveRun): void;
  /** Nobody runs it any more, and nobody shall. */
  lose(run: LiveRun, reason: string): void;
  /** Ends a run that has not begun. `error`: what those who wait for it are told, if it is not what the journal says. */
  endUnbegun(run: LiveRun, end: LostEnd, error?: RunOutcome['error']): void;
}

/** `onGone` is called when a run is out of the directory: settled, or left. */
export function endingsOf(desk: Desk, onGone: (outcome: RunOutcome | null) => void): Endings {
  const { context, store, admission, directory, readers, outcomes } = desk;

  const untilDone = <T>(
    runId: string,
    work: () => Promise<T>,
    onDone: (done: T) => void,
    onTried = (): void => {},
  ): void => {
    const tried = (then: () => void): void => {
      then();
      onTried();
    };
    context.pipe(
      work(),
      (done) => tried(() => onDone(done)),
      (error) => {
        if (!isFault(error) || !error.retryable) throw error;
        context.log.warn({ run: runId, error: error.message }, 'a run is not settled yet');
        tried(() => context.after(`settle ${runId}`, SETTLE_RETRY_MS, () => untilDone(runId, work, onDone)));
      },
    );
  };

  const settle = (runId: string, save: () => Promise<RunOutcome>): void => untilDone(runId, save, finish);

  const finish = (outcome: RunOutcome): void => {
    directory.remove(outcome.run_id);
    admission.leave(outcome.run_id);
    readers.wake(outcome.run_id);
    outcomes.settle(outcome);
    onGone(outcome);
  };

  const recordOf = (runId: string): RunRecord =>
    present(store.records.get(runId), 'the record of an accepted run');

  return {
    settled({ usage, ...outcome }) {
      const { run_id, status } = outcome;
      if (directory.beginSettling(run_id) === undefined) return;
      remember(desk, outcome);
      settle(run_id, async () => {
        await settleRecord(context, store, run_id, status, usage);
        return outcome;
      });
    },
    takeUp(run, loss, beginAnew, onTried) {
      const { runId } = run;
      if (directory.beginSettling(runId) === undefined) {
        onTried();
        return;
      }
      const work = (): Promise<TakenUp> => takeUp(context, store, recordOf(runId), loss);
      const onDone = (taken: TakenUp): void => {
        if (taken.kind === 'settled') finish(taken.outcome);
        // Its user has cancelled it meanwhile.
        else if (recordOf(runId).isCancelled) untilDone(runId, work, onDone);
        else {
          directory.endSettling(runId);
          beginAnew(run, taken.before, taken.isCounted);
        }
      };
      untilDone(runId, work, onDone, onTried);
    },
    leave({ runId }) {
      directory.remove(runId);
      admission.leave(runId);
      readers.wake(runId);
      onGone(null);
    },
    lose({ runId }, reason) {
      if (directory.beginSettling(runId) === undefined) return;
      settle(runId, () => settleRun(context, store, recordOf(runId), { status: 'failed', reason }));
    },
    endUnbegun(run, end, error) {
      const { runId, where } = run;
      if (where.at !== 'desk' || directory.beginSettling(runId) === undefined) return;
      const { prelude } = where;
      admission.withdraw(runId);
      prelude.close();
      settle(runId, async () => {
        await prelude.written();
        const outcome = await settleRun(context, store, recordOf(runId), end);
        return error === undefined ? outcome : { ...outcome, error };
      });
    },
  };
}

/** The next turn of a conversation that is not stored knows this one. */
function remember({ context, store, sessions }: Desk, { run_id, reply }: RunOutcome): void {
  const record = store.records.get(run_id);
  if (record?.request.use_memory !== false || reply === null) return;
  const user = { role: 'user', content: record.request.message ?? '' } as const;
  const answer = { role: 'assistant', content: reply.answer } as const;
  sessions.add(record.session_id, [user, answer], context.clock.nowMs());
}
