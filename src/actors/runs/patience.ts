// Patience: what is refused for now (a disk that is full, an owner that restarts) is tried again, so that a run outlives it.
// Meanwhile the run writes nothing, its readers are kept alive by the edge, and its producers wait (run-journal.ts, J3).

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';

/** Beyond this somebody has to free space, or to look after us: a run that stands still for longer ends with the reason. */
export const PATIENCE_MS = 600_000;
const RETRY_DELAY_FIRST_MS = 50;
const RETRY_DELAY_MAX_MS = 1_000;

/** @throws what is no passing refusal, and one that has not passed within PATIENCE_MS or before this actor ended */
export async function patiently<T>({ clock, signal }: ActorContext, save: () => Promise<T>): Promise<T> {
  const untilMs = clock.monotonicMs() + PATIENCE_MS;
  for (let delayMs = RETRY_DELAY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, RETRY_DELAY_MAX_MS)) {
    try {
      return await save();
    } catch (error) {
      if (!isFault(error) || !error.retryable || signal.aborted || clock.monotonicMs() >= untilMs)
        throw error;
    }
    await new Promise<void>((resolve) => clock.startTimer(delayMs, resolve));
  }
}
