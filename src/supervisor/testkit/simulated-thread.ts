// SimulatedThread: the event loop of one thread of a simulation, turned by hand.
// U4 What the thread has to do waits in one queue, in order: drains of its scheduler, timers that are due.
// U5 A paused thread does nothing; what falls due meanwhile waits. A dead one never does anything again.

import type { Clock, Timer } from '../../std/clock.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { Runtime } from '../runtime.ts';
import type { Executor } from '../scheduler.ts';

export class SimulatedThread {
  readonly thread: number;
  readonly clock: Clock;
  readonly executor: Executor;
  /** Null until it has joined the system. */
  runtime: Runtime | null = null;
  /** Null as long as it lives. */
  diedAtMs: number | null = null;
  isPaused = false;
  /** What it reports of its heap. */
  heapUsedBytes = 0;
  readonly #tasks: (() => void)[] = [];
  readonly #timers = new Set<Timer>();

  constructor(thread: number, clock: Clock, random: RandomSource) {
    this.thread = thread;
    this.clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      startTimer: (delayMs, fire) => this.#startTimer(clock, delayMs, fire),
    };
    this.executor = {
      soon: (run) => this.do(run),
      afterIo: (run) => this.do(run),
      pick: (count) => Math.floor(random.float() * count),
    };
  }

  get isAlive(): boolean {
    return this.diedAtMs === null;
  }

  get canRun(): boolean {
    return this.isAlive && !this.isPaused;
  }

  get hasWork(): boolean {
    return this.canRun && this.#tasks.length > 0;
  }

  /** Timers that wait. */
  get timers(): number {
    return this.#timers.size;
  }

  do(task: () => void): void {
    if (this.isAlive) this.#tasks.push(task);
  }

  step(): void {
    this.#tasks.shift()?.();
  }

  die(): void {
    this.diedAtMs ??= this.clock.monotonicMs();
    this.#tasks.length = 0;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #startTimer(clock: Clock, delayMs: number, fire: () => void): Timer {
    // Told by a dead thread's code that still runs to its next await: nothing will come of it.
    if (!this.isAlive) return { cancel: () => undefined };
    let isCancelled = false;
    const timer = clock.startTimer(delayMs, () => {
      this.#timers.delete(timer);
      this.do(() => {
        if (!isCancelled) fire();
      });
    });
    this.#timers.add(timer);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
        this.#timers.delete(timer);
      },
    };
  }
}
