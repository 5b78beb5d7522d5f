// View: jobs as clients see them.

import { isoTimestamp } from '../../std/clock.ts';
import { CUT_TEXT_CHARS, type Job, LIST_CHARS_MAX } from './protocol.ts';
import type { JobWithTexts } from './store.ts';

export function viewOf(job: JobWithTexts): Job {
  const { request, status, startedAtMs, completedAtMs, totalTokens, totalTimeMs } = job;
  return {
    job_id: job.jobId,
    user_id: job.userId,
    message: job.message,
    session_id: request.session_id || (status === 'queued' ? '' : job.sessionId),
    profile_id: request.profile_id ?? '',
    agent_profile_id: request.agent_profile_id ?? '',
    workflow_id: request.workflow_id ?? '',
    model: request.model ?? '',
    use_memory: request.use_memory === false ? '0' : '1',
    status,
    created_at: isoTimestamp(job.createdAtMs),
    ...(startedAtMs === null ? {} : { started_at: isoTimestamp(startedAtMs) }),
    ...(completedAtMs === null ? {} : { completed_at: isoTimestamp(completedAtMs) }),
    response: job.response,
    error: job.error,
    ...(totalTokens === null ? {} : { total_tokens: String(totalTokens) }),
    ...(totalTimeMs === null ? {} : { total_time_ms: String(totalTimeMs) }),
  };
}

/** Most lists are whole. One whose texts are as long as they may be would hold up everybody else, and its reader, for seconds. */
export function listed(jobs: Iterable<JobWithTexts>): Job[] {
  const views: Job[] = [];
  let room = LIST_CHARS_MAX;
  const fitted = (text: string): string => {
    if (text.length > room && text.length > CUT_TEXT_CHARS) {
      return `${text.slice(0, CUT_TEXT_CHARS).toWellFormed()}…`;
    }
    room -= text.length;
    return text;
  };
  for (const job of jobs) {
    views.push(viewOf({ ...job, message: fitted(job.message), response: fitted(job.response) }));
  }
  return views;
}
