// Outcomes: who waits for the end of which live run: blocking chats, and whoever asked for an outcome.
// An asker that gives up is forgotten at once; the run goes on (R4).

import type { RunOutcome } from './protocol.ts';

export class Outcomes {
  readonly #waiting = new Map<string, Set<(outcome: RunOutcome) => void>>();

  /** Resolves when the run is settled; rejects with the signal's reason as soon as it is aborted. */
  wait(runId: string, signal: AbortSignal): Promise<RunOutcome> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const waiting = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiting);
      const leave = (): void => {
        waiting.delete(answer);
        if (waiting.size === 0) this.#waiting.delete(runId);
        reject(signal.reason);
      };
      const answer = (outcome: RunOutcome): void => {
        signal.removeEventListener('abort', leave);
        resolve(outcome);
      };
      waiting.add(answer);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  settle(outcome: RunOutcome): void {
    const waiting = this.#waiting.get(outcome.run_id);
    if (waiting === undefined) return;
    this.#waiting.delete(outcome.run_id);
    for (const answer of waiting) answer(outcome);
  }
}
