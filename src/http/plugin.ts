// Plugin: the API as a Fastify plugin, for our own server and for any other host that embeds Troupe.
// U1 It brings its own body parser, validator, error replies and log hook, and none of them reaches the host's routes.
// U2 CORS and the reply to unknown paths are the host's; server.ts is the host that we ship.

import type { FastifyInstance } from 'fastify';
import { type Clock, systemClock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { type AllowedOrigins, allowedOrigins } from './cors.ts';
import { answerFailure } from './errors.ts';
import { logRequests } from './hooks/request-log.ts';
import { acceptJsonOnly, JSON_BODY_BYTES_MAX } from './json-body.ts';
import { mountMcp } from './mcp/mount-mcp.ts';
import { mountBindings, STREAMS_OPEN_MAX } from './mount.ts';
import { describeRoutes } from './openapi.ts';
import type { ActorDoor, Binding } from './route.ts';
import { routeTable } from './routes/table.ts';
import { createValidatorCompiler } from './validation.ts';

export interface TroupePluginOptions {
  /** The actor system. */
  readonly door: ActorDoor;
  readonly log: Log;
  /** Of the service, for the API description. */
  readonly version: string;
  readonly clock?: Clock;
  /** What to serve; all of Troupe's routes when absent. */
  readonly bindings?: readonly Binding[];
  readonly bodyBytesMax?: number;
  readonly streamsOpenMax?: number;
  /** Whose pages may call `/mcp`; those that the service's own server allows by default when absent. */
  readonly origins?: AllowedOrigins;
  /** The name under which the service is known outside, if it has one. */
  readonly publicHost?: string;
}

/** `await app.register(troupePlugin, { door, log, version })`. */
export async function troupePlugin(app: FastifyInstance, options: TroupePluginOptions): Promise<void> {
  const { door, log, version, clock = systemClock, bindings = routeTable } = options;
  acceptJsonOnly(app, options.bodyBytesMax ?? JSON_BODY_BYTES_MAX);
  app.setValidatorCompiler(createValidatorCompiler());
  app.setErrorHandler((error, request, reply) => answerFailure(error, request, reply, log));
  logRequests(app, log);
  await describeRoutes(app, version);
  mountBindings(app, bindings, {
    door,
    clock,
    log,
    streamsOpenMax: options.streamsOpenMax ?? STREAMS_OPEN_MAX,
  });
  const { origins = allowedOrigins({}), publicHost = '' } = options;
  mountMcp(app, { door, clock, log, version, origins, publicHost });
}
