// Jobs: chat turns that somebody leaves behind and looks for later. A durable queue in front of runs, and an inbox.
// B1 A job is flushed before its id is answered. From then on it ends: done, or failed with a reason. One that was refused is
//    not there.
// B2 A job's run bears the job's id, so that it can be launched again after a crash without being run twice.
// B3 Jobs are served in the order of their acceptance, user by user in turn, at most `jobs.live_max` at once and one of a
//    conversation at a time. Who is refused a place waits for it.
// B4 To dismiss a job takes it out of the inbox: one that waits never runs, the turn of one that runs goes on.
// B5 A user has at most JOBS_PER_USER_MAX jobs: the oldest ended one makes room for a newcomer. Ended ones are forgotten
//    after JOB_LIFETIME_MS, others never.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';
import { ChatRequest } from '../runs/protocol.ts';

export const jobFaults = declareFaults({
  message_required: 'invalid',
  session_id_invalid: 'invalid',
  job_not_found: 'not_found',
  jobs_full: 'unavailable',
});

const JobStatus = Type.Union([
  Type.Literal('queued'),
  Type.Literal('running'),
  Type.Literal('done'),
  Type.Literal('failed'),
]);
export type JobStatus = Static<typeof JobStatus>;

export const JOBS_PER_USER_MAX = 50;
/** Of all texts in one list, newest first. What is beyond it is cut there, and whole where the job itself is read. */
export const LIST_CHARS_MAX = 2_000_000;
/** Of a text that is cut. */
export const CUT_TEXT_CHARS = 500;
/** Of all users: what waits is remembered in some 200 bytes each. */
export const JOBS_UNENDED_MAX = 10_000;
/** An ended job stays in the inbox for so long. */
export const JOB_LIFETIME_MS = 24 * 3600 * 1000;

const { message, session_id, model, profile_id, agent_profile_id, workflow_id, use_memory } =
  ChatRequest.properties;
/** A turn as it is left behind: what a blocking chat may ask for. */
export const JobRequest = Type.Object({
  message,
  session_id,
  model,
  profile_id,
  agent_profile_id,
  workflow_id,
  use_memory,
});
export type JobRequest = Static<typeof JobRequest>;

const Text = Type.String();
const ForUser = { user_id: Text };

/** Every member is a text: numbers too, flags are `1` and `0`, and what was not given is empty. */
export const Job = Type.Object({
  job_id: Text,
  user_id: Text,
  message: Text,
  /** Empty while a job that named none is queued: its conversation begins with its turn. */
  session_id: Text,
  profile_id: Text,
  agent_profile_id: Text,
  workflow_id: Text,
  model: Text,
  use_memory: Text,
  status: JobStatus,
  created_at: Text,
  started_at: Type.Optional(Text),
  completed_at: Type.Optional(Text),
  response: Text,
  error: Text,
  total_tokens: Type.Optional(Text),
  total_time_ms: Type.Optional(Text),
});
export type Job = Static<typeof Job>;

export const jobs = protocol('jobs', {
  submit: call({
    summary: 'Leaves a chat turn behind, to be answered in the background.',
    request: Type.Object({ ...JobRequest.properties, ...ForUser }),
    reply: Type.Object({ job_id: Text, status: Type.Literal('queued') }),
    faults: {
      message_required: jobFaults.message_required,
      session_id_invalid: jobFaults.session_id_invalid,
      jobs_full: jobFaults.jobs_full,
    },
  }),
  list: call({
    summary: `The caller's background jobs, newest first. Texts beyond ${LIST_CHARS_MAX} characters in all are cut.`,
    request: Type.Object({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: JOBS_PER_USER_MAX, default: JOBS_PER_USER_MAX }),
      ),
      ...ForUser,
    }),
    reply: Type.Object({ jobs: Type.Array(Job) }),
  }),
  read: call({
    summary: 'A background job, with its answer once it is done.',
    request: Type.Object({ job_id: Text, ...ForUser }),
    reply: Job,
    faults: { job_not_found: jobFaults.job_not_found },
  }),
  dismiss: call({
    summary: 'Takes a background job out of the inbox; one that has not begun will not run.',
    request: Type.Object({ job_id: Text, ...ForUser }),
    reply: Type.Object({ deleted: Type.Boolean() }),
  }),
});
