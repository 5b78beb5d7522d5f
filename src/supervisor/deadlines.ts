// Deadlines: one timer for any number of pending asks.
// Asks of the same duration expire in the order in which they were made, so each duration has a queue of its own and only
// its head needs a timer: O(1) to add, nothing to do when an ask is answered in time.

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
  timer: Timer | null;
}

/** Settled entries at the front are dropped when this many have gathered. */
const COMPACT_AT = 1024;

export class Deadlines {
  readonly #clock: Clock;
  readonly #lanes = new Map<number, Lane>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(durationMs: number, expiring: Expiring): void {
    let lane = this.#lanes.get(durationMs);
    if (lane === undefined) {
      lane = { durationMs, waiting: [], head: 0, timer: null };
      this.#lanes.set(durationMs, lane);
    }
    lane.waiting.push({ expiring, atMs: this.#clock.monotonicMs() + durationMs });
    this.#skipSettled(lane);
    if (lane.timer === null) this.#arm(lane);
  }

  /** Cancels all timers; nothing expires any more. */
  close(): void {
    for (const lane of this.#lanes.values()) lane.timer?.cancel();
    this.#lanes.clear();
  }

  #skipSettled(lane: Lane): void {
    while (lane.head < lane.waiting.length && lane.waiting[lane.head]?.expiring.isSettled) lane.head += 1;
    if (lane.head >= COMPACT_AT) {
      lane.waiting = lane.waiting.slice(lane.head);
      lane.head = 0;
    }
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
