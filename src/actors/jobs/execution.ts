// Execution: one job from its place in the queue to its end. Whatever fails on the way, the job ends or keeps waiting (B1).
// E1 Launched, then marked as running: a crash between the two launches it again, which changes nothing (B2).
// E2 A job that is marked as running is never launched again: if its run is not known any more, it has failed.
// E3 What storage refuses for now is saved as soon as it takes it; the job keeps its place as long.

import { type Fault, isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { type RunOutcome, runs } from '../runs/protocol.ts';
import type { JobEnd, JobRecord, JobStore } from './store.ts';

import '../services.ts';

const SAVE_RETRY_MS = 1_000;
const OUTCOME_RETRY_MS = 1_000;
/** How long one question for an outcome stays open; it is asked again and again. */
const OUTCOME_DEADLINE_MS = 600_000;
/** The record of a run is flushed before it is taken: on a slow disk that may take its time. */
const LAUNCH_DEADLINE_MS = 30_000;

/** `refused`: there is no place for it right now; it is to be executed again. */
export type Execution = { readonly kind: 'ended' } | { readonly kind: 'refused'; readonly fault: Fault };

const ENDED: Execution = { kind: 'ended' };

export async function execute(context: ActorContext, store: JobStore, jobId: string): Promise<Execution> {
  const job = store.find(jobId);
  if (job === undefined) return ENDED; // Dismissed while it waited (B4).
  if (job.status === 'queued') {
    try {
      await launch(context, store, job);
    } catch (error) {
      if (!isFault(error)) throw error;
      if (error.retryable) return { kind: 'refused', fault: error };
      await end(context, store, job, failed(error.message));
      return ENDED;
    }
    await saved(context, jobId, () => store.begin(jobId, context.clock.nowMs())); // E1
  }
  await end(context, store, job, await endOf(context, job));
  return ENDED;
}

async function launch(context: ActorContext, store: JobStore, job: JobRecord): Promise<void> {
  const { jobId, userId, request, sessionId } = job;
  const { message } = store.withTexts(job);
  await context.ask(
    runs,
    'launch',
    {
      run_id: jobId,
      user_id: userId,
      origin: 'job',
      request: { ...request, message, session_id: sessionId },
    },
    { deadlineMs: LAUNCH_DEADLINE_MS },
  );
}

/** Waits for the run, however long it takes. */
async function endOf(context: ActorContext, { jobId, userId }: JobRecord): Promise<JobEnd> {
  for (;;) {
    try {
      const asked = { run_id: jobId, user_id: userId };
      return endBy(await context.ask(runs, 'outcome', asked, { deadlineMs: OUTCOME_DEADLINE_MS }));
    } catch (error) {
      if (!isFault(error) || context.signal.aborted) throw error;
      if (!error.retryable) return failed(error.message); // E2
    }
    await pause(context, jobId, OUTCOME_RETRY_MS);
  }
}

function endBy({ status, reply, error }: RunOutcome): JobEnd {
  if (status === 'cancelled') return failed('The turn was cancelled');
  if (reply === null) return failed(error?.message ?? 'The turn failed');
  const { answer, total_tokens, total_time_ms } = reply;
  return { status: 'done', response: answer, totalTokens: total_tokens, totalTimeMs: total_time_ms };
}

function failed(error: string): JobEnd {
  return { status: 'failed', error };
}

function end(context: ActorContext, store: JobStore, { jobId }: JobRecord, jobEnd: JobEnd): Promise<void> {
  return saved(context, jobId, () => store.end(jobId, jobEnd, context.clock.nowMs()));
}

/** E3. */
async function saved(context: ActorContext, jobId: string, save: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await save();
    } catch (error) {
      if (!isFault(error) || !error.retryable || context.signal.aborted) throw error;
      context.log.warn({ job: jobId, error: error.message }, 'a job could not be saved yet');
    }
    await pause(context, jobId, SAVE_RETRY_MS);
  }
}

/** A job waits for one thing at a time. */
function pause(context: ActorContext, jobId: string, delayMs: number): Promise<void> {
  return new Promise((resolve) => void context.after(`pause ${jobId}`, delayMs, resolve));
}
