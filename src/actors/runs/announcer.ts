// Announcer: tells the directory which runs have something new to read. One for all runs of a thread: a commit brings events of
// many runs, and all of them go in one message. At a thousand runs on a thread that is some hundred messages a second instead of
// one for each event.

export class Announcer {
  readonly #announce: (runIds: readonly string[]) => void;
  #runIds = new Set<string>();

  constructor(announce: (runIds: readonly string[]) => void) {
    this.#announce = announce;
  }

  /** Events of this run were committed. */
  appended(runId: string): void {
    if (this.#runIds.size === 0) queueMicrotask(() => this.#flush());
    this.#runIds.add(runId);
  }

  /** A microtask later: the writers of one commit all hear of it in the same turn of the event loop. */
  #flush(): void {
    const runIds = [...this.#runIds];
    this.#runIds = new Set();
    this.#announce(runIds);
  }
}
