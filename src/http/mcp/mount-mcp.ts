// MountMcp: `/mcp` on the edge. Fastify's requests become the web's, whose language the protocol's package speaks.
// M1 Whoever asks is checked before anything is loaded: where from (callers.ts), and whether there is anything here at all.
// M2 POST carries messages, DELETE ends a session. GET goes on with a call's stream that broke (`Last-Event-ID`). There is no
//    stream of the server's own to GET: it has nothing to say that was not asked for, and the protocol answers 405 to that.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mcpOutward } from '../../actors/mcp-outward/protocol.ts';
import type { FailureDialect } from '../errors.ts';
import { edgeFaults } from '../errors.ts';
import { sessionUser } from '../hooks/session.ts';
import { assertCaller, type CallerRules } from './callers.ts';
import type { Endpoint, EndpointOptions } from './endpoint.ts';

export const MCP_PATH = '/mcp';
/** The protocol's package wants a whole URL, and reads nothing of it. */
const BASE = 'http://localhost';
const ALLOW = 'POST, DELETE';
const SERVED: ReadonlySet<string> = new Set(['POST', 'DELETE']);
const SERVER_ERROR = -32_000;

export type MountMcpOptions = EndpointOptions & CallerRules;

export function mountMcp(app: FastifyInstance, options: MountMcpOptions): void {
  const outward = options.door.named(mcpOutward);
  let endpoint: Promise<Endpoint> | null = null;

  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    assertCaller(request.headers, options); // M1
    await outward.ask('offer', {});
    const isResuming = request.method === 'GET' && request.headers['last-event-id'] !== undefined;
    if (SERVED.has(request.method) || isResuming) return;
    reply.header('allow', ALLOW);
    throw edgeFaults.method_not_allowed(`Method ${request.method} is not allowed here`); // M2
  };
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    endpoint ??= import('./endpoint.ts').then(({ openEndpoint }) => openEndpoint(options));
    const { serve } = await endpoint;
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const response = await serve(webRequest(request, gone.signal), request.body, sessionUser(request));
    return reply.send(response);
  };
  const common = { url: MCP_PATH, config: { failures: jsonRpcFailures }, onRequest, handler };
  app.route({ ...common, method: 'POST', schema: POST_SCHEMA });
  app.route({ ...common, method: 'DELETE', schema: DELETE_SCHEMA });
  app.route({ ...common, method: 'GET', schema: GET_SCHEMA, exposeHeadRoute: false });
  app.route({ ...common, method: ['HEAD', 'PUT', 'PATCH'], schema: { hide: true } });
  app.addHook('preClose', async () => {
    if (endpoint !== null) await (await endpoint).close();
  });
}

/** The body stays where it is: it has been read and parsed. */
function webRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return new Request(BASE + request.url, { method: request.method, headers, signal });
}

const jsonRpcFailures: FailureDialect = {
  schema: {
    type: 'object',
    properties: {
      jsonrpc: { type: 'string' },
      error: {
        type: 'object',
        properties: { code: { type: 'integer' }, message: { type: 'string' } },
        required: ['code', 'message'],
      },
      id: { type: 'string', nullable: true },
    },
    required: ['jsonrpc', 'error', 'id'],
  },
  bodyOf: ({ sentence }) => ({
    jsonrpc: '2.0',
    error: { code: SERVER_ERROR, message: sentence },
    id: null,
  }),
};

const FAILURE = { 'x-response-description': 'A failure', ...jsonRpcFailures.schema };
const SESSION_HEADERS = {
  type: 'object',
  properties: {
    'mcp-session-id': { type: 'string', description: 'From the answer to `initialize`.' },
    'mcp-protocol-version': { type: 'string' },
  },
};

const POST_SCHEMA = {
  operationId: 'mcp_post',
  tags: ['mcp'],
  summary: 'A message of the Model Context Protocol, where `mcp.server.enabled` is on (streamable HTTP).',
  headers: SESSION_HEADERS,
  response: {
    200: {
      description: 'Its answer, as JSON or as server-sent events',
      content: {
        'application/json': { schema: { type: 'object', additionalProperties: true } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    },
    202: { 'x-response-description': 'A message that has no answer', type: 'null' },
    default: FAILURE,
  },
};

const GET_SCHEMA = {
  operationId: 'mcp_get',
  tags: ['mcp'],
  summary: "Goes on with the answer to a message whose connection broke; 405 without the last event's id.",
  headers: {
    type: 'object',
    properties: { ...SESSION_HEADERS.properties, 'last-event-id': { type: 'string' } },
  },
  response: {
    200: {
      description: 'Server-sent events',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    default: FAILURE,
  },
};

const DELETE_SCHEMA = {
  operationId: 'mcp_delete',
  tags: ['mcp'],
  summary: 'Ends a session of the Model Context Protocol.',
  headers: SESSION_HEADERS,
  response: { 200: { 'x-response-description': 'Ended', type: 'null' }, default: FAILURE },
};
