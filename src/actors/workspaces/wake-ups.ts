// Wake-ups: tells whoever follows that there is something to fetch. They carry nothing, so that none can be missed: however
// many come while a follower is busy, it wakes once and fetches all. Whoever changes a document wakes whatever came of the change: a
// write that failed may have failed at its flush alone, and then there is something to fetch.

export class WakeUps {
  #count = 0;
  readonly #followers = new Set<() => void>();

  wake(): void {
    this.#count += 1;
    for (const wake of this.#followers) wake();
  }

  /** Wakes at once, for what is there already. */
  async *follow(signal: AbortSignal): AsyncGenerator<Record<string, never>, void, undefined> {
    let seen = -1;
    while (!signal.aborted) {
      if (seen === this.#count) await this.#next(signal);
      else {
        seen = this.#count;
        yield {};
      }
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#followers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#followers.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
