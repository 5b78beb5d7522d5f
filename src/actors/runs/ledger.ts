// Ledger: what runs tell the usage ledger, so that each turn that called a model is in it once.
// G1 The directory enters a turn before it settles its record: a crash between the two enters it again, which changes nothing.
// G2 Of a turn that was lost, what its journal or its last step knows is entered. A call that was under way is in neither.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { type TurnKey, type TurnUsage, usage } from '../usage/protocol.ts';
import type { JournaledEvent, RunEvents } from './events.ts';
import type { RunStep } from './steps.ts';
import type { UsageCounts } from './usage.ts';

/** The ledger may have crashed on something else. What it refuses for good must not keep the run from being settled. */
const REFUSALS_MAX = 3;
const RETRY_DELAY_MS = 200;

/** A background job's turn is a chat like any other. */
export function turnKey(runId: string): TurnKey {
  return { turn_id: runId, source: 'chat' };
}

/** Null as long as no call of a model has told or shown anything. */
export function usageOfTurn(counts: UsageCounts, latencyMs: number | null): TurnUsage | null {
  const { model, inputTokens, outputTokens, costUsd } = counts;
  return model === null ? null : { model, agent_id: null, inputTokens, outputTokens, costUsd, latencyMs };
}

/** G2. */
export function usageOfLost(
  events: readonly JournaledEvent[],
  lastStep: RunStep | undefined,
): TurnUsage | null {
  const end = events.findLast(([event]) => event === 'done');
  if (end === undefined) return lastStep === undefined ? null : usageOfTurn(lastStep.usage, null);
  const done = JSON.parse(end[1]) as RunEvents['done'];
  return {
    model: done.model,
    agent_id: done.agent_id,
    inputTokens: done.tokens_input,
    outputTokens: done.tokens_output,
    costUsd: done.cost_estimate,
    latencyMs: done.total_time_ms,
  };
}

/** G1. @throws a retryable fault when it could not be entered yet */
export async function enterUsage(
  context: ActorContext,
  runId: string,
  used: TurnUsage | null,
): Promise<void> {
  if (used === null) {
    context.tell(usage, 'discard', turnKey(runId));
    return;
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await context.ask(usage, 'record', { ...turnKey(runId), ...used });
    } catch (error) {
      if (!isFault(error) || error.retryable || context.signal.aborted) throw error;
      if (tries === REFUSALS_MAX) {
        context.log.error({ run: runId, error: error.message }, 'the usage of a turn was refused');
        return;
      }
    }
    await new Promise<void>((resolve) => context.clock.startTimer(RETRY_DELAY_MS, resolve));
  }
}
