// Cancelling: how a run that is to end hears of it, wherever it is.
// X1 A host whose mail is full is told again, as long as it has the run: nobody asks twice for what was promised once.
// X2 A run that is being taken up is ended by whoever does that, who sees the note in its record. It may have begun again before the
//    note was there: so it is looked for once more.

import type { Desk } from './desk.ts';
import type { Endings } from './endings.ts';
import { runHost, type StopCause } from './protocol.ts';
import { noteCancelled } from './recovery.ts';

const FULL_RETRY_MS = 50;

export interface Cancelling {
  /** Resolves when it is settled that the run ends. @throws what storage refused */
  cancel(runId: string): Promise<void>;
  /** For a run that is on a host. */
  tellHost(runId: string, cause: StopCause): void;
}

export function cancellingOf({ context, store, directory }: Desk, endings: Endings): Cancelling {
  const tellHost = (runId: string, cause: StopCause): void => {
    const where = directory.find(runId)?.where;
    if (where?.at !== 'host') return;
    if (context.refTo(runHost, where.host).tell('cancel', { run_id: runId, cause })) return;
    context.after(`cancel ${runId}`, FULL_RETRY_MS, () => tellHost(runId, cause)); // X1
  };

  /** True when it had not begun: then all is done. */
  const end = (runId: string): boolean => {
    const run = directory.find(runId);
    if (run === undefined || directory.isSettling(runId)) return false;
    if (run.where.at === 'desk') endings.endUnbegun(run, { status: 'cancelled' });
    else tellHost(runId, 'cancelled');
    return run.where.at === 'desk';
  };

  return {
    async cancel(runId) {
      if (end(runId)) return;
      await noteCancelled(context, store, runId);
      end(runId); // X2
    },
    tellHost,
  };
}
