// Outcomes: who waits for the end of which live run: blocking chats, and whoever asked for an outcome.
// An asker that gives up is forgotten at once; the run goes on (R4).

import { Fault } from '../../std/errors.ts';
import type { RunOutcome } from './protocol.ts';

type Answer = (answer: RunOutcome | Fault) => void;

export class Outcomes {
  readonly #waiting = new Map<string, Set<Answer>>();

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
      const answer: Answer = (given) => {
        signal.removeEventListener('abort', leave);
        if (given instanceof Fault) reject(given);
        else resolve(given);
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

  /** Those who still wait are told that there will be no answer here. */
  refuse(fault: Fault): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiting of all) for (const answer of waiting) answer(fault);
  }
}
