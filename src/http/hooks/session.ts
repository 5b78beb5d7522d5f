// Session: whose request it is. The one place that authentication will change.
// Q1 While authentication is off, everything belongs to the user `default`.

import type { FastifyRequest } from 'fastify';

const DEFAULT_USER_ID = 'default';

export function sessionUser(_request: FastifyRequest): string {
  return DEFAULT_USER_ID;
}
