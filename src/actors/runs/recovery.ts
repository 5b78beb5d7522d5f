// Recovery: settles runs that nobody runs any more, in the store: rows, last events, record (R5).
// Repeatable: rows are idempotent by run, events are appended only where they are missing, a settled record is left alone.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { conversations, type NewRow } from '../conversations/protocol.ts';
import type { RunOutcome, RunStatus } from './protocol.ts';
import { type LostRun, outcomeOf, settleLostRun } from './settlement.ts';
import { type RunRecord, type RunStore, readEvents } from './store.ts';

const CHANNEL_DEFAULT = '_default';

export type LostEnd = LostRun['end'];

/** Settles one run; answers its final status. @throws a retryable fault when something of it could not be saved yet */
export async function recoverRun(
  context: ActorContext,
  store: RunStore,
  record: RunRecord,
  end: LostEnd,
): Promise<Exclude<RunStatus, 'running'>> {
  const { run_id } = record;
  const events = readEvents(store, run_id, 0);
  const settlement = settleLostRun({ record, events, end, nowMs: context.clock.nowMs() });
  if (settlement.rows !== null) await saveRows(context, record, settlement.rows);
  if (settlement.lastEvents.length > 0) {
    await store.journals.append(run_id, events.length + 1, settlement.lastEvents);
  }
  await settleRecord(context, store, run_id, settlement.status);
  return settlement.status;
}

async function saveRows(
  context: ActorContext,
  { run_id, session_id: conversation_id }: RunRecord,
  rows: readonly NewRow[],
): Promise<void> {
  try {
    await context.ask(conversations, 'append', { conversation_id, run_id, channel: CHANNEL_DEFAULT, rows });
  } catch (error) {
    // Rows that are refused for good must not keep the run, or the next start, from being settled. Rows whose answer this
    // actor did not live to hear are for its successor.
    if (!isFault(error) || error.retryable || context.signal.aborted) throw error;
    context.log.error({ run: run_id, error: error.message }, 'the rows of a lost run were refused');
  }
}

/**
 * Writes the final status, once, and has the journal laid out for reading. The steps are of no use any more; those that a crash
 * leaves behind expire with the run.
 */
export async function settleRecord(
  context: ActorContext,
  store: RunStore,
  runId: string,
  status: Exclude<RunStatus, 'running'>,
): Promise<void> {
  await context.services.storage.write('committed', (tx) => {
    const record = tx.get(store.records, runId);
    if (record?.status !== 'running') return;
    tx.put(store.records, runId, { ...record, status, updatedAtMs: context.clock.nowMs() });
  });
  await store.steps.expire(runId);
  await store.journals.seal(runId);
}

/** How a run that is settled ended, from its journal. */
export function storedOutcome(
  store: RunStore,
  record: RunRecord,
  status: Exclude<RunStatus, 'running'>,
): RunOutcome {
  return outcomeOf(record, status, readEvents(store, record.run_id, 0));
}
