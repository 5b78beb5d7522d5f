// Status: what others are told of the engine, and who wants to hear when it changes. Owned by the embeddings actor.

import { type EngineLock, engineView } from './engine-lock.ts';
import type { EngineProgress, EngineStatus } from './protocol.ts';

export class Status {
  #lock: EngineLock;
  /** Why the current engine cannot be used; null when nothing is known against it. */
  #currentError: string | null = null;
  /** Why the one that the settings name cannot be used. */
  #wantedError: string | null = null;
  #progress: EngineProgress | null = null;
  #changes = 0;
  readonly #wakes = new Set<() => void>();

  constructor(lock: EngineLock) {
    this.#lock = lock;
  }

  get now(): EngineStatus {
    const { current, next } = this.#lock;
    return {
      current: current && engineView(current),
      next: next && engineView(next),
      state: current === null || this.#currentError !== null ? 'unavailable' : 'ready',
      error: this.#currentError ?? this.#wantedError,
      progress: this.#progress,
    };
  }

  locked(lock: EngineLock): void {
    if (lock.current?.id !== this.#lock.current?.id) this.#currentError = null;
    if (lock.next?.id !== this.#lock.next?.id) this.#progress = null;
    this.#lock = lock;
    this.#changed();
  }

  current(error: string | null): void {
    if (error === this.#currentError) return;
    this.#currentError = error;
    this.#changed();
  }

  wanted(error: string | null): void {
    if (error === this.#wantedError) return;
    this.#wantedError = error;
    this.#changed();
  }

  progressed(engine: string, { done, total }: EngineProgress): void {
    if (engine === this.#lock.next?.id) this.#progress = { done, total };
  }

  async *follow(signal: AbortSignal): AsyncGenerator<EngineStatus, void, undefined> {
    let wake = (): void => undefined;
    const told = (): void => wake();
    this.#wakes.add(told);
    signal.addEventListener('abort', told);
    try {
      for (let seen = -1; !signal.aborted; ) {
        if (seen !== this.#changes) {
          seen = this.#changes;
          yield this.now;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      this.#wakes.delete(told);
      signal.removeEventListener('abort', told);
    }
  }

  #changed(): void {
    this.#changes += 1;
    for (const wake of this.#wakes) wake();
  }
}
