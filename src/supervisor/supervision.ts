// Supervision: the pure part of it. What a supervisor does about a child that ended, and how long it waits.
// After OTP's supervisor: restart types, strategies and restart intensity mean here what they mean there.

import type { RandomSource } from '../std/ids.ts';
import type { Restart, Supervision, SupervisionStrategy, TerminationReason } from './actor.ts';

export const SUPERVISION_DEFAULT: Supervision = {
  strategy: 'one_for_one',
  intensity: { restartsMax: 5, withinMs: 10_000 },
  backoff: { initialMs: 0, maxMs: 5_000 },
};

export function shouldRestart(restart: Restart, reason: TerminationReason): boolean {
  switch (restart) {
    case 'permanent':
      return true;
    case 'transient':
      return reason.kind !== 'stopped';
    case 'temporary':
      return false;
  }
}

/** Which of the children, in start order, are stopped and started again when the one at `index` is. */
export function restartedWith(
  strategy: SupervisionStrategy,
  index: number,
  count: number,
): readonly number[] {
  switch (strategy) {
    case 'one_for_one':
      return [index];
    case 'one_for_all':
      return Array.from({ length: count }, (_, i) => i);
    case 'rest_for_one':
      return Array.from({ length: count - index }, (_, i) => index + i);
  }
}

/** Remembers the restarts of the last `withinMs` and says when there were too many. */
export class RestartBudget {
  readonly #supervision: Supervision;
  #restartsAtMs: number[] = [];

  constructor(supervision: Supervision) {
    this.#supervision = supervision;
  }

  /** Counts one restart. False when it exceeds the intensity: the supervisor must fail. */
  spend(nowMs: number): boolean {
    const { restartsMax, withinMs } = this.#supervision.intensity;
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < withinMs);
    this.#restartsAtMs.push(nowMs);
    return this.#restartsAtMs.length <= restartsMax;
  }

  /** Milliseconds to wait before the restart that was counted last. */
  delayMs(random: RandomSource): number {
    const { initialMs, maxMs } = this.#supervision.backoff;
    const burst = this.#restartsAtMs.length;
    // The first restart of a quiet child is immediate: most crashes are met by a fresh start.
    if (burst <= 1 || maxMs === 0) return initialMs * jitter(random);
    const base = Math.max(initialMs, BACKOFF_FLOOR_MS);
    return Math.min(maxMs, base * 2 ** (burst - 2)) * jitter(random);
  }
}

/** Where a zero initial delay starts to double from. */
const BACKOFF_FLOOR_MS = 50;

function jitter(random: RandomSource): number {
  return 0.5 + random.float();
}
