// LoopLag: how late the event loop of a thread is, measured by a timer of its inspector while somebody asks (U4).

import type { ActorContext } from '../actor.ts';

const TICK_MS = 50;
/** It costs a little; it ends when nobody has asked for so long. */
const IDLE_MS = 10_000;

export class LoopLag {
  readonly #context: ActorContext;
  #worstMs = 0;
  /** When the next tick should be; null while nothing is measured. */
  #dueMs: number | null = null;

  constructor(context: ActorContext) {
    this.#context = context;
  }

  /** At worst since it was last asked; null the first time, when nothing has been measured yet. */
  takeMs(): number | null {
    this.#context.after('lag idle', IDLE_MS, () => {
      this.#dueMs = null;
    });
    if (this.#dueMs === null) {
      this.#tick();
      return null;
    }
    this.#note(this.#dueMs);
    const worstMs = this.#worstMs;
    this.#worstMs = 0;
    return worstMs;
  }

  #tick(): void {
    this.#worstMs = this.#dueMs === null ? 0 : this.#worstMs;
    this.#dueMs = this.#context.clock.monotonicMs() + TICK_MS;
    this.#context.after('lag tick', TICK_MS, () => {
      if (this.#dueMs === null) return;
      this.#note(this.#dueMs);
      this.#tick();
    });
  }

  #note(dueMs: number): void {
    this.#worstMs = Math.max(this.#worstMs, this.#context.clock.monotonicMs() - dueMs);
  }
}
