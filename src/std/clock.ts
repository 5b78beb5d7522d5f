// Clock: the only door to time. Actors get one by hand, so that a test can hold it still (see supervisor/testkit).
// C1 `nowMs` is wall time and may jump; `monotonicMs` never goes back: measure durations and deadlines with it.
// C2 A timer fires at most once, and not after it was cancelled. It may fire a part of a millisecond before its time: what is due
//    only when the time has come is looked at again, or waits for ever.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start, fractional. */
  monotonicMs(): number;
  startTimer(delayMs: number, fire: () => void): Timer;
}

/** setTimeout turns anything above this into 1 ms. */
const TIMER_DELAY_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer(delayMs, fire) {
    const timeout = setTimeout(fire, Math.min(Math.max(delayMs, 0), TIMER_DELAY_MAX_MS));
    return { cancel: () => clearTimeout(timeout) };
  },
};

/** Fires again and again without keeping its thread alive: for what only looks on. */
export function repeatUnreferenced(intervalMs: number, fire: () => void): Timer {
  const interval = setInterval(fire, intervalMs).unref();
  return { cancel: () => clearInterval(interval) };
}

/** ISO 8601 with microseconds and an explicit offset, the form that clients of the wire format know. */
export function isoTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000+00:00');
}

/** Milliseconds since 1970 of an ISO timestamp or an HTTP date; null when the text is neither. */
export function parseTimestamp(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
