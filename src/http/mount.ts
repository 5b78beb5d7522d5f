// Mount: bindings become Fastify routes. The request's way: validated, assembled, asked, answered.
// N1 A path that is bound answers 405 with `Allow` to every method that it is not bound to.
// N2 At most STREAMS_OPEN_MAX readers at once; one more is told to come again.

import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { bytesHandler } from './bytes.ts';
import { edgeFaults } from './errors.ts';
import { sessionUser } from './hooks/session.ts';
import { sendPieces } from './json-pieces.ts';
import { type MessageSources, messageSources } from './message.ts';
import { routeSchema } from './openapi.ts';
import { PAGE_HEADERS } from './result-page.ts';
import type { ActorDoor, Binding, CallBinding, PageBinding, StreamBinding } from './route.ts';
import { EventStream } from './sse.ts';
import { acceptForms, uploadHandler } from './upload.ts';

/** A reader costs a file descriptor and some ten kilobytes; a process has about 20,000 descriptors. */
export const STREAMS_OPEN_MAX = 8192;

const PENDING = 202;

const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export interface MountOptions {
  readonly door: ActorDoor;
  readonly clock: Clock;
  readonly log: Log;
  readonly streamsOpenMax: number;
}

interface BoundPath {
  readonly path: string;
  readonly methods: Set<HTTPMethods>;
}

export function mountBindings(
  app: FastifyInstance,
  bindings: readonly Binding[],
  options: MountOptions,
): void {
  const streams = new Set<EventStream>();
  const operationIds = new Set<string>();
  const uploads: RouteOptions[] = [];
  // By shape: `{id}` and `{name}` in the same place are one path to the router.
  const paths = new Map<string, BoundPath>();

  for (const binding of bindings) {
    const sources = messageSources(binding);
    const operationId = uniqueId(binding, operationIds);
    const path = fastifyPath(binding.url);
    const shape = binding.url.replace(/\{\w+\}/g, '{}');
    const { methods } = paths.get(shape) ?? { methods: new Set() };
    paths.set(shape, { path, methods: methods.add(binding.method) });
    // A HEAD of a stream would have no end, and one of a page would use it up.
    const exposeHeadRoute = binding.method === 'GET' && (binding.kind === 'call' || binding.kind === 'bytes');
    if (exposeHeadRoute) methods.add('HEAD');
    const route: RouteOptions = {
      method: binding.method,
      url: path,
      exposeHeadRoute,
      schema: routeSchema(binding, sources, operationId),
      config: binding.failures === undefined ? {} : { failures: binding.failures },
      handler: handlerOf(binding, sources, streams, options),
    };
    if (binding.kind === 'upload') uploads.push(route);
    else app.route(route);
  }
  if (uploads.length > 0) {
    void app.register(async (scope) => {
      await acceptForms(scope);
      for (const route of uploads) scope.route(route);
    });
  }
  for (const bound of paths.values()) refuseOtherMethods(app, bound);
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.close();
  });
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

function handlerOf(
  binding: Binding,
  sources: MessageSources,
  streams: Set<EventStream>,
  options: MountOptions,
): Handler {
  switch (binding.kind) {
    case 'call':
      return callHandler(binding, sources, options);
    case 'page':
      return pageHandler(binding, sources, options);
    case 'upload':
      return uploadHandler(binding, sources, options.door);
    case 'bytes':
      return bytesHandler(binding, sources, options.door);
    case 'stream':
      return streamHandler(binding, sources, streams, options);
    case 'either': {
      const answer = callHandler(binding.call, sources, options);
      const stream = streamHandler(binding.stream, sources, streams, options);
      return (request, reply) => {
        const body = request.body as Readonly<Record<string, unknown>>;
        return body[binding.streamsWhen] === true ? stream(request, reply) : answer(request, reply);
      };
    }
  }
}

/** What it settles goes on when the browser has left. */
function pageHandler(binding: PageBinding, sources: MessageSources, { door }: MountOptions): Handler {
  const show = binding.show(door);
  const patience = binding.deadlineMs === undefined ? {} : { deadlineMs: binding.deadlineMs };
  return async (request, reply) => {
    const { status, html } = await show(sources.assemble(request, sessionUser(request)), patience);
    return reply.code(status).headers(PAGE_HEADERS).send(html);
  };
}

function callHandler(binding: CallBinding, sources: MessageSources, { door }: MountOptions): Handler {
  const ask = binding.ask(door);
  const { status = 200, deadlineMs, isPending, pieces } = binding;
  const send = (reply: FastifyReply, answer: unknown): FastifyReply => {
    reply.code(isPending?.(answer) ? PENDING : status);
    return pieces === undefined ? reply.send(answer) : sendPieces(reply, pieces(answer));
  };
  if (deadlineMs === undefined) {
    return async (request, reply) => {
      const answer = await ask(sources.assemble(request, sessionUser(request)), {});
      return send(reply, answer);
    };
  }
  return async (request, reply) => {
    const abort = new AbortController();
    reply.raw.once('close', () => abort.abort());
    const answer = await ask(sources.assemble(request, sessionUser(request)), {
      deadlineMs,
      signal: abort.signal,
    });
    return send(reply, answer);
  };
}

function streamHandler(
  binding: StreamBinding,
  sources: MessageSources,
  streams: Set<EventStream>,
  { door, clock, log, streamsOpenMax }: MountOptions,
): Handler {
  const open = binding.open(door);
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (streams.size >= streamsOpenMax) throw edgeFaults.streams_exhausted('Too many open streams'); // N2
    const message = sources.assemble(request, sessionUser(request));
    const lastEventId = request.headers['last-event-id'];
    const resumed =
      binding.cursor === undefined || lastEventId === undefined
        ? message
        : { ...message, [binding.cursor]: lastEventId };
    const stream = new EventStream({
      response: reply.raw,
      headers: reply.getHeaders(),
      failures: binding.failures,
      clock,
      log,
      onOpen: () => void reply.hijack(),
    });
    streams.add(stream);
    try {
      const ending = await stream.tail((signal) => open(resumed, signal));
      log.debug({ request_id: request.id, route: binding.url, ending }, 'event stream ended');
    } finally {
      streams.delete(stream);
    }
  };
}

/** N1. Refused before the body is read. */
function refuseOtherMethods(app: FastifyInstance, { path, methods }: BoundPath): void {
  const others = METHODS.filter((method) => !methods.has(method));
  const allow = [...methods].join(', ');
  if (others.length === 0) return;
  app.route({
    method: others,
    url: path,
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: async (request, reply) => {
      reply.header('allow', allow);
      throw edgeFaults.method_not_allowed(`Method ${request.method} is not allowed here`);
    },
    handler: () => undefined,
  });
}

function fastifyPath(url: string): string {
  return url.replace(/\{(\w+)\}/g, ':$1');
}

/** `conversations_messages`; the second route to the same message adds its method. */
function uniqueId(binding: Binding, taken: Set<string>): string {
  const plain = `${binding.noun}_${binding.message}`.replaceAll('-', '_');
  const id = taken.has(plain) ? `${plain}_${binding.method.toLowerCase()}` : plain;
  taken.add(id);
  return id;
}
