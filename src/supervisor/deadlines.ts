// Deadlines: one timer for any number of pending asks.
// Asks of the same duration expire in the order in which they were made, so each duration has a lane of its own and only
// its head needs a timer: O(1) to add, nothing to do when an ask is answered in time.
// B1 What was answered in time is not kept: a lane holds at most as many settled asks as open ones, or COMPACT_AT.

import type { Clock, Timer } from '../std/clock.ts';

export interface Expiring {
  /** True once there is nothing left to expire. */
  readonly isSettled: boolean;
  expire(): void;
}

interface Waiting {
  readonly expiring: Expiring;
  readonly atMs: number;
}

interface Lane {
  readonly durationMs: number;
  waiting: Waiting[];
  head: number;
  compactAt: number;
  /** Null only while the lane fires. */
  timer: Timer | null;
}

const COMPACT_AT = 1024;

export class Deadlines {
  readonly #clock: Clock;
  readonly #lanes = new Map<number, Lane>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(durationMs: number, expiring: Expiring): void {
    const waiting = { expiring, atMs: this.#clock.monotonicMs() + durationMs };
    const lane = this.#lanes.get(durationMs);
    if (lane === undefined) {
      const opened: Lane = { durationMs, waiting: [waiting], head: 0, compactAt: COMPACT_AT, timer: null };
      this.#lanes.set(durationMs, opened);
      this.#arm(opened);
      return;
    }
    lane.waiting.push(waiting);
    if (lane.waiting.length >= lane.compactAt && lane.timer !== null) compact(lane);
  }

  /** Cancels all timers; nothing expires any more. */
  close(): void {
    for (const lane of this.#lanes.values()) lane.timer?.cancel();
    this.#lanes.clear();
  }

  #arm(lane: Lane): void {
    const first = lane.waiting[lane.head];
    if (first === undefined) return;
    lane.timer = this.#clock.startTimer(first.atMs - this.#clock.monotonicMs(), () => this.#fire(lane));
  }

  #fire(lane: Lane): void {
    lane.timer = null;
    const nowMs = this.#clock.monotonicMs();
    for (; lane.head < lane.waiting.length; lane.head += 1) {
      const waiting = lane.waiting[lane.head];
      if (waiting === undefined) break;
      if (waiting.expiring.isSettled) continue;
      if (waiting.atMs > nowMs) break;
      waiting.expiring.expire();
    }
    if (lane.head >= lane.waiting.length) this.#lanes.delete(lane.durationMs);
    else this.#arm(lane);
  }
}

/** B1. Each time at least half of what is there was added since the last time, so it costs O(1) an ask. */
function compact(lane: Lane): void {
  lane.waiting = lane.waiting.slice(lane.head).filter(({ expiring }) => !expiring.isSettled);
  lane.head = 0;
  lane.compactAt = Math.max(COMPACT_AT, lane.waiting.length * 2);
}
