// Recovery: takes up runs that nobody runs any more. Each is resumed, or settled in the store: rows, last events, record (R5).
// What is to be done is decided in resumption.ts and settlement.ts; this does it.
// Repeatable: rows are idempotent by run, events are appended only where they are missing, a settled record is left alone.
// What storage holds of one run may be damaged. That run is settled without it: none keeps the service from starting.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { conversations, type NewRow } from '../conversations/protocol.ts';
import type { TurnUsage } from '../usage/protocol.ts';
import type { JournaledEvent } from './events.ts';
import { enterUsage, usageOfLost } from './ledger.ts';
import type { HandOver } from './prelude.ts';
import type { RunOutcome, RunStatus } from './protocol.ts';
import { fateOf, type LostRunFacts, pendingSteers } from './resumption.ts';
import { type LostRun, outcomeOf, settleLostRun } from './settlement.ts';
import { lastStep } from './steps.ts';
import { type RunRecord, type RunStore, readEvents } from './store.ts';

const CHANNEL_DEFAULT = '_default';

export type LostEnd = LostRun['end'];

/** What befell a run, and what may be done about it. */
export interface Loss extends Pick<LostRunFacts, 'isResumeAllowed' | 'isMemoryLost'> {
  /** A sentence without its stop: "The service was restarted". */
  readonly what: string;
}

export type TakenUp =
  | { readonly kind: 'settled'; readonly outcome: RunOutcome }
  /** It may begin again, and goes on from there. */
  | { readonly kind: 'resumed'; readonly before: HandOver; readonly isCounted: boolean };

/** Settles the run, or says how it is to be resumed. @throws a retryable fault when it could not be settled yet */
export async function takeUp(
  context: ActorContext,
  store: RunStore,
  record: RunRecord,
  { what, ...allowed }: Loss,
): Promise<TakenUp> {
  const { run_id, createdAtMs } = record;
  const journaled = ifReadable(context, run_id, () => {
    const stepSeq = lastStep(store.steps, run_id)?.seq ?? 0;
    return { stepSeq, behind: readEvents(store, run_id, stepSeq) };
  });
  if (journaled === undefined) {
    const end = { status: 'failed', reason: `${what}, and its journal cannot be read` } as const;
    return { kind: 'settled', outcome: await settleRun(context, store, record, end) };
  }
  const { stepSeq, behind } = journaled;
  const settle = (end: LostEnd): Promise<RunOutcome> =>
    stepSeq === 0 ? settleFrom(context, store, record, end, behind) : settleRun(context, store, record, end);
  const facts = { record, behind, isStored: false, ...allowed };
  const first = fateOf(facts);
  // Asked only where it matters: most runs that were under way have stored nothing.
  const isStored = first.kind === 'resumed' && (await holdsRows(context, record));
  const fate = isStored ? fateOf({ ...facts, isStored }) : first;
  switch (fate.kind) {
    case 'resumed': {
      const before = { journaledSeq: stepSeq + behind.length, steers: pendingSteers(behind, createdAtMs) };
      return { kind: 'resumed', before, isCounted: fate.isCounted };
    }
    case 'cancelled':
      return { kind: 'settled', outcome: await settle({ status: 'cancelled' }) };
    case 'finished':
    case 'settled': {
      const reason = fate.kind === 'settled' ? what + fate.why : what;
      return { kind: 'settled', outcome: await settle({ status: 'failed', reason }) };
    }
  }
}

/** Settles a run from its journal. @throws a retryable fault when something of it could not be saved yet */
export async function settleRun(
  context: ActorContext,
  store: RunStore,
  record: RunRecord,
  end: LostEnd,
): Promise<RunOutcome> {
  const { run_id } = record;
  const events = ifReadable(context, run_id, () => readEvents(store, run_id, 0));
  if (events === undefined) return settleUnread(context, store, record, end);
  return settleFrom(context, store, record, end, events);
}

async function settleFrom(
  context: ActorContext,
  store: RunStore,
  record: RunRecord,
  end: LostEnd,
  events: readonly JournaledEvent[],
): Promise<RunOutcome> {
  const { run_id } = record;
  const { rows, lastEvents, status } = settleLostRun({ record, events, end, nowMs: context.clock.nowMs() });
  if (rows !== null) await saveRows(context, record, rows);
  if (lastEvents.length > 0) await store.journals.append(run_id, events.length + 1, lastEvents);
  const step = ifReadable(context, run_id, () => lastStep(store.steps, run_id));
  const usage = usageOfLost(events, step);
  await settleRecord(context, store, run_id, status, usage);
  return outcomeOf(record, status, [...events, ...lastEvents]);
}

/** Nobody knows what it has said: its user's message is kept, and the damaged journal left as it is. */
async function settleUnread(
  context: ActorContext,
  store: RunStore,
  record: RunRecord,
  end: LostEnd,
): Promise<RunOutcome> {
  const { rows } = settleLostRun({ record, events: [], end, nowMs: context.clock.nowMs() });
  if (rows !== null) await saveRows(context, record, rows);
  await enterUsage(context, record.run_id, null);
  await endRecord(context, store, record.run_id, end.status);
  return outcomeOf(record, end.status, []);
}

/** Undefined for what is damaged: one journal must not keep the run, or the service, from going on. */
export function ifReadable<T>(context: ActorContext, runId: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    passOver(context, runId, error, 'the journal of a lost run cannot be read');
    return undefined;
  }
}

/** @throws the error itself when it is no damage */
function passOver(context: ActorContext, runId: string, error: unknown, what: string): void {
  if (!isFault(error) || error.retryable) throw error;
  context.log.error({ run: runId, error: error.message }, what);
}

async function holdsRows(
  context: ActorContext,
  { run_id, session_id: conversation_id, request }: RunRecord,
): Promise<boolean> {
  if (request.use_memory === false) return false;
  try {
    return (await context.ask(conversations, 'holds', { conversation_id, run_id })).isHeld;
  } catch (error) {
    if (context.signal.aborted) throw error;
    passOver(context, run_id, error, 'the conversation of a lost run cannot be read');
    return true; // Who cannot know must not have it answered twice.
  }
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
 * Enters what the turn used, then writes the final status, once, and has the journal laid out for reading. The steps are of no
 * use any more; those that a crash, or damage, leaves behind expire with the run.
 */
export async function settleRecord(
  context: ActorContext,
  store: RunStore,
  runId: string,
  status: Exclude<RunStatus, 'running'>,
  usage: TurnUsage | null,
): Promise<void> {
  await enterUsage(context, runId, usage);
  await endRecord(context, store, runId, status);
  try {
    if (store.steps.lastSeq(runId) > 0) await store.steps.expire(runId);
    await store.journals.seal(runId);
  } catch (error) {
    passOver(context, runId, error, 'the journal of a run that has ended cannot be read');
  }
}

function endRecord(
  context: ActorContext,
  store: RunStore,
  runId: string,
  status: Exclude<RunStatus, 'running'>,
): Promise<void> {
  const updatedAtMs = context.clock.nowMs();
  return changeRunning(context, store, runId, (record) => ({ ...record, status, updatedAtMs }));
}

/** Durable before the run begins again: one that its host dies of must not be resumed for ever. */
export function countResume(context: ActorContext, store: RunStore, runId: string): Promise<void> {
  return changeRunning(context, store, runId, (record) => ({ ...record, resumes: record.resumes + 1 }));
}

/** Whoever takes the run up, should its host be lost now, ends it. */
export function noteCancelled(context: ActorContext, store: RunStore, runId: string): Promise<void> {
  return changeRunning(context, store, runId, (record) => ({ ...record, isCancelled: true }));
}

function changeRunning(
  context: ActorContext,
  store: RunStore,
  runId: string,
  change: (record: RunRecord) => RunRecord,
): Promise<void> {
  return context.services.storage.write('committed', (tx) => {
    const record = tx.get(store.records, runId);
    if (record?.status === 'running') tx.put(store.records, runId, change(record));
  });
}

/** How a run that is settled ended, from its journal. */
export function storedOutcome(
  store: RunStore,
  record: RunRecord,
  status: Exclude<RunStatus, 'running'>,
): RunOutcome {
  return outcomeOf(record, status, readEvents(store, record.run_id, 0));
}
