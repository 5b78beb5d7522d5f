// Store: what is known of each job, and apart from it the two texts of each, so that bookkeeping reads no text.
// J1 The number of a job is the order of its acceptance, whatever the wall clock does; the inbox is sorted by it.
// J2 A change of a job that was dismissed meanwhile changes nothing.
// J3 An expired job is not there, whether or not the sweep has come by.

import type { Durability, Storage, Transaction } from '../../storage/contract.ts';
import { JOB_LIFETIME_MS, JOBS_PER_USER_MAX, type JobRequest, type JobStatus } from './protocol.ts';

export interface JobRecord {
  readonly jobId: string;
  readonly userId: string;
  readonly number: number;
  readonly request: Omit<JobRequest, 'message'>;
  /** The conversation of the turn, chosen when the job was accepted if the request named none. */
  readonly sessionId: string;
  readonly status: JobStatus;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
  readonly error: string;
  readonly totalTokens: number | null;
  readonly totalTimeMs: number | null;
}

interface JobTexts {
  readonly message: string;
  readonly response: string;
}

export interface JobWithTexts extends JobRecord, JobTexts {}

export type NewJob = Pick<
  JobWithTexts,
  'jobId' | 'userId' | 'request' | 'sessionId' | 'createdAtMs' | 'message'
>;

/** How a job ended. */
export type JobEnd =
  | {
      readonly status: 'done';
      readonly response: string;
      readonly totalTokens: number;
      readonly totalTimeMs: number;
    }
  | { readonly status: 'failed'; readonly error: string };

type JobIndexes = {
  readonly byNumber: (job: JobRecord) => number;
  readonly byUser: (job: JobRecord) => readonly [string, number];
  /** Queued and running ones in order; ended ones by when they did. */
  readonly byStage: (job: JobRecord) => readonly [JobStatus | 'ended', number];
};

export interface JobStore {
  /** Files a job as queued, in place of the user's oldest ended one if need be; null when all of them are unended. */
  accept(job: NewJob): Promise<JobRecord | null>;
  find(jobId: string): JobRecord | undefined;
  withTexts(job: JobRecord): JobWithTexts;
  /** Newest first. */
  listOf(userId: string, limit: number, nowMs: number): readonly JobRecord[];
  /** In the order of acceptance. */
  inStage(status: 'queued' | 'running'): Iterable<JobRecord>;
  begin(jobId: string, startedAtMs: number): Promise<void>;
  end(jobId: string, end: JobEnd, completedAtMs: number): Promise<void>;
  /** True when there was something to remove. */
  remove(jobId: string): Promise<boolean>;
  /** Forgets those that have expired, at most `jobsMax` of them; answers how many. */
  sweep(nowMs: number, jobsMax: number): Promise<number>;
}

export function openJobStore(storage: Storage): JobStore {
  const jobs = storage.table<JobRecord, JobIndexes>({
    name: 'jobs',
    indexes: {
      byNumber: (job) => job.number,
      byUser: (job) => [job.userId, job.number],
      byStage: (job) =>
        job.completedAtMs === null ? [job.status, job.number] : ['ended', job.completedAtMs],
    },
  });
  const texts = storage.table<JobTexts>({ name: 'job-texts' });

  const removeIn = (tx: Transaction, jobId: string): boolean => {
    tx.remove(texts, jobId);
    return tx.remove(jobs, jobId);
  };

  const change = (
    durability: Durability,
    jobId: string,
    apply: (job: JobRecord, tx: Transaction) => JobRecord,
  ): Promise<void> =>
    storage.write(durability, (tx) => {
      const job = tx.get(jobs, jobId);
      if (job !== undefined) tx.put(jobs, jobId, apply(job, tx)); // J2
    });

  return {
    accept: ({ message, ...job }) =>
      storage.write('flushed', (tx) => {
        const others = Array.from(tx.by(jobs, 'byUser', { prefix: [job.userId] }), ({ value }) => value);
        if (others.length >= JOBS_PER_USER_MAX) {
          const oldestEnded = others.find(({ completedAtMs }) => completedAtMs !== null);
          if (oldestEnded === undefined) return null;
          removeIn(tx, oldestEnded.jobId);
        }
        const record: JobRecord = {
          ...job,
          number: lastNumberIn(tx) + 1,
          status: 'queued',
          startedAtMs: null,
          completedAtMs: null,
          error: '',
          totalTokens: null,
          totalTimeMs: null,
        };
        tx.put(jobs, job.jobId, record);
        tx.put(texts, job.jobId, { message, response: '' });
        return record;
      }),
    find: (jobId) => jobs.get(jobId),
    withTexts: (job) => ({ ...job, ...(texts.get(job.jobId) ?? { message: '', response: '' }) }),
    listOf(userId, limit, nowMs) {
      const all = Array.from(jobs.by('byUser', { prefix: [userId], reverse: true }), ({ value }) => value);
      return all.filter((job) => !isExpired(job, nowMs)).slice(0, limit);
    },
    *inStage(status) {
      for (const { value } of jobs.by('byStage', { prefix: [status] })) yield value;
    },
    begin: (jobId, startedAtMs) =>
      change('committed', jobId, (job) => ({ ...job, status: 'running', startedAtMs })),
    end: (jobId, end, completedAtMs) =>
      change('flushed', jobId, (job, tx) => {
        if (end.status === 'failed') return { ...job, ...end, completedAtMs };
        const { response, ...figures } = end;
        tx.put(texts, jobId, { message: tx.get(texts, jobId)?.message ?? '', response });
        return { ...job, ...figures, completedAtMs };
      }),
    remove: (jobId) => storage.write('flushed', (tx) => removeIn(tx, jobId)),
    sweep: (nowMs, jobsMax) =>
      storage.write('committed', (tx) => {
        const due = {
          start: ['ended'],
          end: ['ended', nowMs - JOB_LIFETIME_MS + 1],
          limit: jobsMax,
        } as const;
        const expired = Array.from(tx.by(jobs, 'byStage', due), ({ value }) => value.jobId);
        for (const jobId of expired) removeIn(tx, jobId);
        return expired.length;
      }),
  };

  function lastNumberIn(tx: Transaction): number {
    for (const { value } of tx.by(jobs, 'byNumber', { reverse: true, limit: 1 })) return value.number;
    return 0;
  }
}

export function isExpired({ completedAtMs }: JobRecord, nowMs: number): boolean {
  return completedAtMs !== null && nowMs >= completedAtMs + JOB_LIFETIME_MS;
}
