// Routes of background jobs: chat turns that are left behind.

import { jobs } from '../../actors/jobs/protocol.ts';
import { bind } from '../route.ts';

export const jobRoutes = [
  bind('POST', '/api/chat/background', jobs, 'submit', { status: 202 }),
  bind('GET', '/api/chat/background', jobs, 'list'),
  bind('GET', '/api/chat/background/{job_id}', jobs, 'read'),
  bind('DELETE', '/api/chat/background/{job_id}', jobs, 'dismiss'),
];
