// Server: the HTTP edge as it runs by itself, a Fastify instance of our own around the plugin.
// W1 No state but connections: whatever a request is about lives in an actor.
// W2 Closing is bounded: no new connections, open streams end, running requests get CLOSE_WITHIN_MS, then they are cut.
// W3 A reader that takes nothing of what waits for it, for STALL_MAX_MS, is gone, whatever its TCP says: a file, a long answer and
//    the end of a stream are held for it no longer. Somebody for whom nothing waits may be silent for as long as it likes.

import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { type Clock, systemClock, type Timer } from '../std/clock.ts';
import { allowedOrigins, allowOrigins } from './cors.ts';
import { answerFailure, edgeFaults } from './errors.ts';
import { type TroupePluginOptions, troupePlugin } from './plugin.ts';
import { STALL_MAX_MS } from './sse.ts';

/** A request must have arrived whole within this: a 50 MiB upload over a slow line does, a drip feed does not. */
const REQUEST_ARRIVAL_MAX_MS = 300_000;
/** Ids in URLs are at most 200 characters, each of which may be escaped as three bytes. */
const URL_PARAMETER_LENGTH_MAX = 600;
/** Each connection is a file descriptor, of which a process has about 20,000. */
const CONNECTIONS_MAX = 16_000;
/** What a response buffers for a reader that does not read, before its producer rests: a quarter of what Node would. */
const RESPONSE_BUFFER_BYTES = 16_384;
/** Connections that wait to be accepted: a thousand clients that come back at the same moment should not be turned away. */
const BACKLOG = 4_096;
const CLOSE_WITHIN_MS = 4_000;
const IDLE_SWEEP_INTERVAL_MS = 20;

export interface HttpEdgeOptions extends TroupePluginOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly closeWithinMs?: number;
  /** W3. */
  readonly stallMaxMs?: number;
}

export interface HttpEdge {
  /** The URL it listens on. @throws when the port is taken. */
  listen(): Promise<string>;
  /** W2. May be called more than once. */
  close(): Promise<void>;
}

export async function createHttpEdge(options: HttpEdgeOptions): Promise<HttpEdge> {
  const { host, port, log, clock = systemClock } = options;
  const { closeWithinMs = CLOSE_WITHIN_MS, stallMaxMs = STALL_MAX_MS } = options;
  const app: FastifyInstance = Fastify({
    logger: false,
    requestTimeout: REQUEST_ARRIVAL_MAX_MS,
    connectionTimeout: stallMaxMs,
    http: { highWaterMark: RESPONSE_BUFFER_BYTES },
    routerOptions: { maxParamLength: URL_PARAMETER_LENGTH_MAX },
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply, log),
  });
  app.server.maxConnections = CONNECTIONS_MAX;
  // W3. Without a listener Node would cut off whoever waits for an answer, too.
  app.addHook('onRequest', (_, { raw }, done) => {
    raw.on('timeout', cutIfStopped);
    done();
  });
  // Only the plugin's routes read bodies: what comes to an unknown path is not worth parsing.
  app.removeAllContentTypeParsers();
  app.setErrorHandler((error, request, reply) => answerFailure(error, request, reply, log));
  app.setNotFoundHandler((request, reply) =>
    answerFailure(
      edgeFaults.path_unknown(`No such path: ${request.method} ${pathOf(request.url)}`),
      request,
      reply,
      log,
    ),
  );
  await allowOrigins(app, options.origins ?? allowedOrigins({}));
  await app.register(troupePlugin, options);
  await app.ready();

  return {
    listen: () => app.listen({ host, port, backlog: BACKLOG }),
    close: () => closeWithin(app, clock, closeWithinMs),
  };
}

/** W3. */
function cutIfStopped(reader: Socket): void {
  if (reader.writableLength > 0) reader.destroy();
}

/** Without the query, which may hold a token. */
function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url;
}

async function closeWithin(app: FastifyInstance, clock: Clock, withinMs: number): Promise<void> {
  const cut = clock.startTimer(withinMs, () => app.server.closeAllConnections());
  // Node ends the connections that are idle when the closing begins; those that fall idle later are left to us.
  let sweep: Timer;
  const sweepIdle = (): void => {
    app.server.closeIdleConnections();
    sweep = clock.startTimer(IDLE_SWEEP_INTERVAL_MS, sweepIdle);
  };
  sweep = clock.startTimer(IDLE_SWEEP_INTERVAL_MS, sweepIdle);
  try {
    await app.close();
  } finally {
    cut.cancel();
    sweep.cancel();
  }
}
