// View: jobs as clients see them.

import { isoTimestamp } from '../../std/clock.ts';
import type { Job } from './protocol.ts';
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
