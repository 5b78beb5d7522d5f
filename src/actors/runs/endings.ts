// Endings: how runs leave the directory. Reported by their hosts, lost with them, or ended before they began (R5).
// D1 A run is settled by one only, again and again until it is saved, and counts as live as long.

import { present } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { Desk } from './desk.ts';
import type { LiveRun } from './directory.ts';
import type { RunOutcome } from './protocol.ts';
import { type LostEnd, recoverRun, settleRecord, storedOutcome } from './recovery.ts';

/** A settlement that could not be saved (a full disk, an owner that restarts) is tried again after so long. */
const SETTLE_RETRY_MS = 1_000;

export interface Endings {
  /** Its host says how it ended; its rows and events are saved. */
  settled(outcome: RunOutcome): void;
  /** Nobody runs it any more. */
  lose(run: LiveRun, reason: string): void;
  /** Ends a run that has not begun. `error`: what those who wait for it are told, if it is not what the journal says. */
  endUnbegun(run: LiveRun, end: LostEnd, error?: RunOutcome['error']): void;
}

/** `onGone` is called when a run is settled and out of the directory. */
export function endingsOf(desk: Desk, onGone: (outcome: RunOutcome) => void): Endings {
  const { context, store, admission, directory, readers, outcomes } = desk;

  const settle = (runId: string, save: () => Promise<RunOutcome>): void => {
    context.pipe(save(), finish, (error) => {
      if (!isFault(error) || !error.retryable) throw error;
      context.log.warn({ run: runId, error: error.message }, 'a run is not settled yet');
      context.after(`settle ${runId}`, SETTLE_RETRY_MS, () => settle(runId, save));
    });
  };

  const finish = (outcome: RunOutcome): void => {
    directory.remove(outcome.run_id);
    admission.leave(outcome.run_id);
    readers.wake(outcome.run_id);
    outcomes.settle(outcome);
    onGone(outcome);
  };

  const recover = async (runId: string, end: LostEnd): Promise<RunOutcome> => {
    const record = present(store.records.get(runId), 'the record of an accepted run');
    const status = await recoverRun(context, store, record, end);
    return storedOutcome(store, record, status);
  };

  return {
    settled(outcome) {
      const { run_id, status } = outcome;
      if (directory.beginSettling(run_id) === undefined) return;
      remember(desk, outcome);
      settle(run_id, async () => {
        await settleRecord(context, store, run_id, status);
        return outcome;
      });
    },
    lose({ runId }, reason) {
      if (directory.beginSettling(runId) === undefined) return;
      settle(runId, () => recover(runId, { status: 'failed', reason }));
    },
    endUnbegun(run, end, error) {
      const { runId, where } = run;
      if (where.at !== 'desk' || directory.beginSettling(runId) === undefined) return;
      const { prelude } = where;
      admission.withdraw(runId);
      prelude.close();
      settle(runId, async () => {
        await prelude.written();
        const outcome = await recover(runId, end);
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
