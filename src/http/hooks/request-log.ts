// Request log: one line a request, at debug level.
// K1 Neither query, body nor headers: they hold tokens and people's words. The route's pattern says which request it was.

import type { FastifyInstance } from 'fastify';
import type { Log } from '../../std/log.ts';

export function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', (request, reply, done) => {
    log.debug(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url ?? '(unknown)',
        status: reply.statusCode,
        duration_ms: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  });
}
