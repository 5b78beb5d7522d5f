// Report: news that the directory must not miss. While its mailbox, or the link to its thread, is full, they are told again.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';

const RETRY_DELAY_MS = 200;

/** Resolves when the directory has taken it. @throws what is no passing refusal; and when this actor has ended meanwhile */
export async function report(context: ActorContext, tell: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await tell();
    } catch (error) {
      if (!isFault(error) || !error.retryable || context.signal.aborted) throw error;
    }
    await new Promise<void>((resolve) => context.clock.startTimer(RETRY_DELAY_MS, resolve));
  }
}
