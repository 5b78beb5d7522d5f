// Jobs actor: one on the edge thread, the only writer of its tables. It accepts, lists and dismisses, and serves the queue;
// what becomes of a job that is served stands in execution.ts, whose turn is next in queue.ts.

import { type Fault, isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import { config } from '../config/protocol.ts';
import { execute } from './execution.ts';
import { JOBS_UNENDED_MAX, jobFaults, jobs } from './protocol.ts';
import { JobQueue, type WaitingJob } from './queue.ts';
import { isExpired, type JobRecord, type NewJob, openJobStore } from './store.ts';
import { listed, viewOf } from './view.ts';

import '../services.ts';

const JOB_ID_DIGITS = 16;
/** Anything else is no key to look for. */
const JOB_ID = /^[0-9a-f]{16}$/;
const SWEEP_INTERVAL_MS = 60_000;
/** Keeps a sweep short; what is left waits for the next one, and is invisible meanwhile. */
const SWEEP_JOBS_MAX = 500;
/** A refused job is tried again after so long, then twice as long, and so on. */
const REFUSED_DELAY_FIRST_MS = 500;
const REFUSED_DELAY_MAX_MS = 15_000;
/** A turn takes seconds to minutes: to ask again sooner is seldom worth it. */
const FULL_RETRY_AFTER_MS = 10_000;
const FORGET_RETRY_MS = 1_000;

export const jobsActor = actor({
  module: import.meta.url,
  exportName: 'jobsActor',
  protocol: jobs,
  setup(context: ActorContext<typeof jobs>) {
    const { clock } = context;
    const store = openJobStore(context.services.storage);
    const queue = new JobQueue();
    let refusedDelayMs = REFUSED_DELAY_FIRST_MS;
    let isRefused = false;

    /** Fills the free places. */
    const serve = (): void => {
      if (isRefused) return;
      context.pipe(
        context.ask(config, 'settings', {}),
        (settings) => {
          while (queue.liveCount < settings['jobs.live_max']) {
            const job = queue.take();
            if (job === undefined) return;
            attend(job);
          }
        },
        refuse,
      );
    };

    const attend = (job: WaitingJob): void => {
      context.pipe(execute(context, store, job.jobId), (execution) => {
        if (execution.kind === 'refused') {
          queue.putBack(job);
          refuse(execution.fault);
          return;
        }
        queue.end(job);
        refusedDelayMs = REFUSED_DELAY_FIRST_MS;
        serve();
      });
    };

    /** What is refused to one is refused to all: nobody is served until the time is up. */
    const refuse = (error: unknown): void => {
      if (!isFault(error) || !error.retryable) throw error;
      if (isRefused) return;
      isRefused = true;
      const delayMs = Math.min(Math.max(refusedDelayMs, error.retryAfterMs ?? 0), REFUSED_DELAY_MAX_MS);
      refusedDelayMs = delayMs * 2;
      context.log.info({ error: error.message, delayMs }, 'background jobs have to wait');
      context.after('refused', delayMs, () => {
        isRefused = false;
        serve();
      });
    };

    /** Of a job that was refused only its flush may have failed: then it is there, and would wait in the inbox for the next start. */
    const forget = (jobId: string): void => {
      if (store.find(jobId) === undefined) return;
      context.pipe(
        store.remove(jobId),
        () => undefined,
        (error) => {
          if (!isFault(error)) throw error;
          context.after(`forget ${jobId}`, FORGET_RETRY_MS, () => forget(jobId));
        },
      );
    };

    const ownJob = (jobId: string, userId: string): JobRecord | undefined => {
      const job = JOB_ID.test(jobId) ? store.find(jobId) : undefined;
      return job?.userId === userId && !isExpired(job, clock.nowMs()) ? job : undefined;
    };

    /** A full disk puts it off until the next time; any other failure is a bug. */
    const sweep = async (): Promise<void> => {
      try {
        await store.sweep(clock.nowMs(), SWEEP_JOBS_MAX);
      } catch (error) {
        if (!isFault(error)) throw error;
        context.log.warn({ error: error.message }, 'ended jobs could not be forgotten yet');
      }
    };

    for (const record of store.inStage('running')) {
      const job = waiting(record);
      queue.addLive(job);
      attend(job);
    }
    for (const record of store.inStage('queued')) queue.add(waiting(record));
    // A higher limit is felt at once, by those that wait already.
    follow(
      context,
      config,
      'changes',
      {},
      {
        onBegun: serve,
        onItem: (keys) => keys.includes('jobs.live_max') && serve(),
      },
    );
    context.every('sweep', SWEEP_INTERVAL_MS, () => context.background(sweep()));

    return {
      submit: async ({ user_id, message, ...request }) => {
        if ((message ?? '').trim() === '') throw jobFaults.message_required('message is required');
        if (request.session_id?.isWellFormed() === false) {
          throw jobFaults.session_id_invalid('session_id must be well formed');
        }
        if (queue.size >= JOBS_UNENDED_MAX) throw full();
        const job: NewJob = {
          jobId: context.random.hex(JOB_ID_DIGITS),
          userId: user_id,
          request,
          sessionId: request.session_id || context.random.uuid(),
          createdAtMs: clock.nowMs(),
          message: message ?? '',
        };
        const accepted = await store.accept(job).catch((error: unknown) => {
          forget(job.jobId);
          throw error;
        });
        if (accepted === null) throw full();
        queue.add(waiting(accepted));
        serve();
        return { job_id: accepted.jobId, status: 'queued' };
      },
      list: ({ user_id, limit = Number.POSITIVE_INFINITY }) => ({
        jobs: listed(store.listOf(user_id, limit, clock.nowMs()).values().map(store.withTexts)),
      }),
      read: ({ job_id, user_id }) => {
        const job = ownJob(job_id, user_id);
        if (job === undefined) throw jobFaults.job_not_found('Unknown background job');
        return viewOf(store.withTexts(job));
      },
      dismiss: async ({ job_id, user_id }) => {
        if (ownJob(job_id, user_id) === undefined) return { deleted: false };
        const dropped = queue.drop(user_id, job_id);
        try {
          return { deleted: await store.remove(job_id) };
        } catch (error) {
          if (dropped !== undefined) queue.add(dropped);
          serve();
          throw error;
        }
      },
    };
  },
});

function waiting({ jobId, userId, sessionId, number }: JobRecord): WaitingJob {
  return { jobId, userId, sessionId, number };
}

function full(): Fault {
  return jobFaults.jobs_full('Too many background jobs are waiting', { retryAfterMs: FULL_RETRY_AFTER_MS });
}
