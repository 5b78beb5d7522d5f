// Queue: which job is next. Pure bookkeeping: the jobs of a user in the order of their acceptance, the users in turn.
// Q1 A user that was served goes to the end, so that one with many jobs delays the others by one job each at most.
// Q2 Of one conversation one job is live; the next one of it waits, without holding a place, while others pass by.

export interface WaitingJob {
  readonly jobId: string;
  readonly userId: string;
  readonly sessionId: string;
  /** The order of acceptance. */
  readonly number: number;
}

export class JobQueue {
  /** Whoever is first is served next; nobody is here without a job. */
  readonly #waiting = new Map<string, WaitingJob[]>();
  readonly #live = new Map<string, WaitingJob>();
  #waitingCount = 0;

  get liveCount(): number {
    return this.#live.size;
  }

  /** Waiting and live. */
  get size(): number {
    return this.#waitingCount + this.#live.size;
  }

  add(job: WaitingJob): void {
    const jobs = this.#waiting.get(job.userId) ?? [];
    const later = jobs.findIndex(({ number }) => number > job.number);
    jobs.splice(later === -1 ? jobs.length : later, 0, job);
    this.#waiting.set(job.userId, jobs);
    this.#waitingCount += 1;
  }

  /** For a job that the last process left live. */
  addLive(job: WaitingJob): void {
    this.#live.set(job.jobId, job);
  }

  /** The next job, live from now on; undefined when none may begin. */
  take(): WaitingJob | undefined {
    for (const [userId, jobs] of this.#waiting) {
      const job = jobs.find(({ sessionId }) => !this.#isBusy(sessionId));
      if (job === undefined) continue;
      this.#remove(job);
      const rest = this.#waiting.get(userId);
      if (rest !== undefined) {
        this.#waiting.delete(userId);
        this.#waiting.set(userId, rest);
      }
      this.#live.set(job.jobId, job);
      return job;
    }
    return undefined;
  }

  /** A live job that was refused waits again, in its old place among those of its user. */
  putBack(job: WaitingJob): void {
    if (this.#live.delete(job.jobId)) this.add(job);
  }

  end(job: WaitingJob): void {
    this.#live.delete(job.jobId);
  }

  /** Takes a job out that waits; undefined when it does not. */
  drop(userId: string, jobId: string): WaitingJob | undefined {
    const job = this.#waiting.get(userId)?.find((waiting) => waiting.jobId === jobId);
    if (job !== undefined) this.#remove(job);
    return job;
  }

  #isBusy(session: string): boolean {
    for (const { sessionId } of this.#live.values()) if (sessionId === session) return true;
    return false;
  }

  #remove(job: WaitingJob): void {
    const jobs = this.#waiting.get(job.userId) ?? [];
    jobs.splice(jobs.indexOf(job), 1);
    if (jobs.length === 0) this.#waiting.delete(job.userId);
    this.#waitingCount -= 1;
  }
}
