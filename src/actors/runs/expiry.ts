// Expiry: forgets settled runs after RUN_LIFETIME_MS, a bounded number at a time so that the edge thread stays free.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { RUN_LIFETIME_MS } from './protocol.ts';
import type { RunStore } from './store.ts';

const EXPIRED_AT_ONCE_MAX = 500;

/** Goes on until no run is due. What storage refuses is left to the next sweep. */
export async function sweepExpired(context: ActorContext, store: RunStore): Promise<void> {
  const before = context.clock.nowMs() - RUN_LIFETIME_MS;
  const range = { start: ['settled'], end: ['settled', before], limit: EXPIRED_AT_ONCE_MAX };
  try {
    while (!context.signal.aborted) {
      const expired = Array.from(store.records.by('byStatus', range), ({ value }) => value.run_id);
      if (expired.length === 0) return;
      for (const runId of expired) await expire(context, store, runId);
    }
  } catch (error) {
    if (!isFault(error)) throw error;
    context.log.warn({ error: error.message }, 'finished runs could not be forgotten yet');
  }
}

async function expire(context: ActorContext, store: RunStore, runId: string): Promise<void> {
  // The journals first: a crash in between leaves a record that the next sweep finds again.
  await store.steps.expire(runId);
  await store.journals.expire(runId);
  await context.services.storage.write('committed', (tx) => tx.remove(store.records, runId));
}
