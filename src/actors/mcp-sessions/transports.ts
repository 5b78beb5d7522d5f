// Transports: from a stored configuration to something that a client can talk over. Variables are resolved here.

import {
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { EgressPolicy } from '../../egress/guard.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { openBoundedFetch } from './bounded-fetch.ts';
import { childEnvironment, resolved, resolvedAll, type Variables } from './environment.ts';
import { type EventStreamHooks, eventStream } from './event-stream.ts';
import { type Mask, maskOf, type TokenMask, tokenMaskOf } from './masking.ts';
import { signedIn } from './oauth-provider.ts';
import { type McpAuth, type McpServer, mcpSessionFaults } from './protocol.ts';
import { type ProcessExit, startServerProcess } from './server-process.ts';
import { StdioTransport } from './stdio-transport.ts';

/** A session that is to be ended at the server waits that long for it. */
const TERMINATE_MS_MAX = 1_000;

/** A server's configuration with its variables looked up: holds secrets, never leaves the session. */
export type Target =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Variables;
      readonly mask: Mask;
    }
  | {
      readonly kind: 'sse' | 'streamable_http';
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
      readonly auth: McpAuth | null;
      readonly mask: Mask;
      readonly learn: TokenMask['learn'];
    };

/** @throws mcp_config_invalid, mcp_transport_unsupported */
export function targetOf(server: McpServer, variables: Variables): Target {
  switch (server.transport) {
    case 'stdio': {
      if (server.command === null || server.command === '') throw missing(server, 'command');
      const configured = resolvedAll(server.env, variables, 'the variable');
      return {
        kind: 'stdio',
        command: server.command,
        args: server.args,
        env: childEnvironment(configured, process.env),
        mask: maskOf(Object.values(configured)),
      };
    }
    case 'sse':
    case 'streamable_http': {
      if (server.url === null || server.url === '') throw missing(server, 'url');
      const headers = resolvedAll(server.headers, variables, 'the header');
      const secret = server.auth?.client_secret;
      const clientSecret = secret === undefined ? undefined : resolved(secret, variables, 'client_secret');
      const auth = clientSecret === undefined ? server.auth : { ...server.auth, client_secret: clientSecret };
      return {
        kind: server.transport,
        url: webAddress(server.url, server.name),
        headers,
        auth: auth as McpAuth | null,
        ...tokenMaskOf([...Object.values(headers), ...(clientSecret === undefined ? [] : [clientSecret])]),
      };
    }
    case 'websocket':
      throw mcpSessionFaults.mcp_transport_unsupported(
        `The server ${server.name} cannot be reached: the transport websocket is kept in configurations only`,
      );
  }
}

function missing({ name, transport }: McpServer, what: string): Error {
  return mcpSessionFaults.mcp_config_invalid(
    `The server ${name} needs a ${what} for the transport ${transport}`,
  );
}

function webAddress(text: string, server: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw mcpSessionFaults.mcp_config_invalid(`The url of the server ${server} is no http or https address`);
}

export interface OpenTransport {
  readonly transport: Transport;
  /** After the transport has closed: what is left of it. Never rejects. */
  release(): Promise<void>;
}

export interface TransportHooks extends EventStreamHooks {
  onErrorLine(line: string): void;
  /** The connection is of no use any more, though its transport may not have closed; a sentence that begins with "it". */
  onBroken(how: string, isLasting: boolean): void;
}

export function openTransport(
  context: ActorContext,
  server: McpServer,
  target: Target,
  egress: EgressPolicy,
  { onErrorLine, onBroken, ...hooks }: TransportHooks,
): OpenTransport {
  if (target.kind === 'stdio') {
    const start = () => startServerProcess(target, context.clock, context.random);
    const onExit = ({ how, isMissing, isByUs }: ProcessExit): void => {
      if (!isByUs) onBroken(how, isMissing);
    };
    const transport = new StdioTransport(start, { onErrorLine, onExit });
    return { transport, release: () => transport.close() };
  }
  const { kind, url, headers, auth, learn } = target;
  const requests = openBoundedFetch(egress);
  const access =
    auth === null
      ? { fetch: requests.fetch }
      : signedIn(context, { server: server.name, url: url.href, auth }, requests.fetch, learn);
  const options = { ...access, requestInit: { headers } };
  if (kind === 'sse') {
    const transport = new SSEClientTransport(url, options);
    const start = transport.start.bind(transport);
    transport.start = async () => {
      await start();
      // It would open a new stream by itself, which is a new session that nobody has initialised.
      transport.onerror = chained(transport.onerror, (error) => {
        if (error instanceof SseError) onBroken('its stream has ended', false);
      });
    };
    return { transport, release: () => requests.close() };
  }
  const { onerror, ...stream } = eventStream(options.fetch, context.clock, hooks);
  const transport = new StreamableHTTPClientTransport(url, { ...options, ...stream });
  transport.onerror = onerror;
  return {
    transport: endingItsSession(transport, context),
    release: () => requests.close(),
  };
}

type OnError = (error: Error) => void;

function chained(first: OnError | undefined, second: OnError): OnError {
  return (error) => {
    first?.(error);
    second(error);
  };
}

/** Tells the server that the session is over, as it should be told, before the transport closes. */
function endingItsSession(transport: StreamableHTTPClientTransport, context: ActorContext): Transport {
  const close = transport.close.bind(transport);
  transport.close = async () => {
    const told = transport.terminateSession().catch(() => undefined);
    await new Promise<void>((resolve) => {
      const timer = context.clock.startTimer(TERMINATE_MS_MAX, resolve);
      void told.then(() => {
        timer.cancel();
        resolve();
      });
    });
    await close();
  };
  return transport;
}
