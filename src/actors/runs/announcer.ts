// Announcer: tells the directory which runs have something new to read. One for all runs of a thread: a commit brings events of
// many runs, and all of them go in one message. At a thousand runs on a thread that is some hundred messages a second instead of
// one for each event. The number of a run's last event goes with it: a reader who has got so far need not look for more.

/** A run and the number of its last event. */
type Announcement = readonly [runId: string, lastSeq: number];

export class Announcer {
  readonly #announce: (announcements: readonly Announcement[]) => void;
  #lastSeqs = new Map<string, number>();

  constructor(announce: (announcements: readonly Announcement[]) => void) {
    this.#announce = announce;
  }

  /** Events of this run were committed. */
  appended(runId: string, lastSeq: number): void {
    if (this.#lastSeqs.size === 0) queueMicrotask(() => this.#flush());
    this.#lastSeqs.set(runId, lastSeq);
  }

  /** A microtask later: the writers of one commit all hear of it in the same turn of the event loop. */
  #flush(): void {
    const announcements = [...this.#lastSeqs];
    this.#lastSeqs = new Map();
    this.#announce(announcements);
  }
}
