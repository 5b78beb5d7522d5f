// RunResult: how a run ended, or that it has not, as an answer.
// L1 Whatever keeps the end from being known for now (the time is up, the service is stopping) is `running`: the run is
//    durable, and its end can be asked for again.

import { isFault } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { type RunOutcome, runs } from '../runs/protocol.ts';
import type { OutwardContext } from './outward-tool.ts';

/** A settled run is answered from its journal; that takes its time, too. */
const LOOK_UP_MS = 1_000;

const OrNull = Type.Union([Type.String(), Type.Null()]);

export const RunResult = Type.Object({
  run_id: Type.String({ description: 'For read_run and cancel_run.' }),
  conversation_id: Type.Union([Type.String(), Type.Null()], {
    description: 'To go on with; null where it is not known here.',
  }),
  status: Type.Unsafe<'running' | 'done' | 'failed' | 'cancelled'>(
    Type.String({ enum: ['running', 'done', 'failed', 'cancelled'] }),
  ),
  answer: OrNull,
  error: OrNull,
  total_tokens: Type.Union([Type.Integer(), Type.Null()]),
});
export type RunResult = Static<typeof RunResult>;

interface Answered {
  readonly texts: readonly string[];
  readonly structured: RunResult;
  readonly isError: boolean;
}

/** @throws run_not_found */
export async function awaitRun(
  { ask, userId, signal }: OutwardContext,
  run_id: string,
  conversationId: string | null,
  waitSeconds: number,
): Promise<Answered> {
  const deadlineMs = Math.max(waitSeconds * 1000, LOOK_UP_MS);
  try {
    const outcome = await ask(runs, 'outcome', { run_id, user_id: userId }, { deadlineMs, signal });
    return answerOf(ended(outcome, conversationId));
  } catch (error) {
    if (!isFault(error) || !error.retryable) throw error;
    return answerOf(stillRunning(run_id, conversationId)); // L1
  }
}

function ended({ run_id, status, reply, error }: RunOutcome, conversationId: string | null): RunResult {
  return {
    run_id,
    conversation_id: reply?.session_id ?? conversationId,
    status,
    answer: reply?.answer ?? null,
    error: status === 'done' ? null : (error?.message ?? `The run was ${status}`),
    total_tokens: reply?.total_tokens ?? null,
  };
}

function stillRunning(run_id: string, conversation_id: string | null): RunResult {
  return { run_id, conversation_id, status: 'running', answer: null, error: null, total_tokens: null };
}

/** Not every client shows its model the data: what is needed to go on stands in a text, too. */
function answerOf(structured: RunResult): Answered {
  const { run_id, conversation_id, status, answer, error } = structured;
  const words = status === 'running' ? 'The run is still running.' : (answer ?? error ?? '');
  return {
    texts: [words, JSON.stringify({ run_id, conversation_id, status })],
    structured,
    isError: status === 'failed' || status === 'cancelled',
  };
}
