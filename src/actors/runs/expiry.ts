// Expiry: forgets settled runs after RUN_LIFETIME_MS, a bounded number at a time so that the edge thread stays free.

import type { ActorContext } from '../../supervisor/actor.ts';
import { RUN_LIFETIME_MS } from './protocol.ts';
import type { RunStore } from './store.ts';

const EXPIRED_PER_SWEEP_MAX = 500;

export async function sweepExpired(context: ActorContext, store: RunStore): Promise<void> {
  const before = context.clock.nowMs() - RUN_LIFETIME_MS;
  const expired = Array.from(
    store.records.by('byStatus', { start: ['settled'], end: ['settled', before], limit: EXPIRED_PER_SWEEP_MAX }),
    ({ value }) => value.run_id,
  );
  for (const runId of expired) {
    // The journal first: a crash in between leaves a record that the next sweep finds again.
    await store.journals.expire(runId);
    await context.services.storage.write('committed', (tx) => tx.remove(store.records, runId));
  }
}
