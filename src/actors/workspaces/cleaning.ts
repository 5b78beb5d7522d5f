// Cleaning: what deletions and refused uploads leave to be done: rows of deleted workspaces, files of blobs, abandoned drafts.
// K1 All of it is known from the store and can be done again: what a crash or a full disk put off is done later.
// K2 Documents are owed to ingestion when they are cleared, not when their workspace is deleted: so it is woken then, too.

import { isFault } from '../../std/errors.ts';
import type { Blobs } from '../../storage/contract.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Membership } from './memberships.ts';
import type { WorkspaceStore } from './store.ts';
import type { WakeUps } from './wake-ups.ts';

const RETRY_MS = 60_000;

/** Begins with what the last life left. Answers what begins it again. */
export function startCleaning(
  context: ActorContext,
  store: WorkspaceStore,
  blobs: Blobs,
  work: WakeUps,
): () => void {
  const clear = async (workspace: Membership): Promise<void> => {
    for (let isClear = false; !isClear && !context.signal.aborted; ) {
      isClear = await store.clearStep(workspace, context.clock.nowMs());
      work.wake(); // K2
    }
  };
  const clean = async (): Promise<void> => {
    try {
      for (const workspace of store.removals()) await clear(workspace);
      if (!context.signal.aborted) await blobs.sweep();
    } catch (error) {
      if (!isFault(error) && !isOfSystem(error)) throw error;
      context.log.warn({ error: error.message }, 'cleaning up after a deletion is put off');
      context.after('clean', RETRY_MS, cleanSoon); // K1
    }
  };
  const cleanSoon = (): void => context.background(clean());
  cleanSoon();
  return cleanSoon;
}

/** A file that the system does not let us delete is no bug of ours. */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'errno' in error;
}
