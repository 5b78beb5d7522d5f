// Starting: how runs begin. Takes from the admission whose turn it is, and hands it to a host.
// T1 A run begins when all that was said of it before is written: its journal has one writer after the other.
// T2 As long as no host takes runs, they wait. One that was chosen is put back, before the others.

import { present } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { Desk } from './desk.ts';
import type { LiveRun, RunHostEntry } from './directory.ts';
import { type EphemeralTurn, type RunOrder, runHost } from './protocol.ts';
import type { RunRecord } from './store.ts';

/** A thread that does not take a run for so long is stuck, and has been ended by the kernel before. */
const BEGIN_DEADLINE_MS = 60_000;

/** Answers what starts as many runs as may begin now. `onPutBack`: one that was to begin waits again. */
export function startingOf(
  desk: Desk,
  lose: (run: LiveRun, reason: string) => void,
  onPutBack: () => void,
): () => void {
  const { context, store, admission, directory } = desk;

  const startNext = (): void => {
    while (directory.freestHost() !== undefined) {
      const turn = admission.next();
      if (turn === undefined) return;
      start(turn.runId);
    }
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
    const record = present(store.records.get(runId), 'the record of an accepted run');
    const order: RunOrder = { ...orderOf(record), earlier: earlierTurns(record), ...prelude.close() };
    const started: LiveRun = { ...run, where: { at: 'host', host: host.address } };
    directory.put(started);
    begin(started, order, host);
  };

  const begin = (run: LiveRun, order: RunOrder, { address }: RunHostEntry): void => {
    const begun = context.refTo(runHost, address).ask('begin', order, { deadlineMs: BEGIN_DEADLINE_MS });
    context.pipe(
      begun,
      () => undefined,
      (error) => {
        // A host that has ended is watched: its runs are settled when all that lived on it is gone.
        if (!isFault(error, 'actor_terminated')) lose(run, 'The run host did not take the run');
      },
    );
  };

  /** Read now, when the turns before it are over. */
  const earlierTurns = ({ request, session_id }: RunRecord): readonly EphemeralTurn[] =>
    request.use_memory === false ? desk.sessions.turns(session_id, context.clock.nowMs()) : [];

  return startNext;
}

function orderOf(record: RunRecord): Omit<RunOrder, 'earlier' | 'journaledSeq' | 'steers'> {
  const { run_id, user_id, session_id, request, createdAtMs } = record;
  return { run_id, user_id, session_id, request, acceptedAtMs: createdAtMs };
}
