// Connection: one client over one transport, from the handshake until it breaks or is closed. It never comes back to life.
// N1 What is not connected within the timeout, or was given up meanwhile, leaves nothing behind.
// N2 `ended` resolves once, with the reason, however it ends; requests that are open fail with it.

import { Client } from '@modelcontextprotocol/client';
import type { Fault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { LISTS, type ListName } from './catalogue.ts';
import { type Chatter, openChatter, type Tell } from './chatter.ts';
import { connectFault } from './failures.ts';
import { type McpServerInfo, type McpSessionArgs, mcpSessionFaults } from './protocol.ts';
import { answerServerRequests, capabilitiesFor, type RequestPolicy } from './server-requests.ts';
import { openTransport, type Target } from './transports.ts';
import { isMembers } from './untrusted.ts';
import { WatchedTransport } from './watched-transport.ts';

import '../services.ts';

const INFO_CHARS_MAX = 200;

export interface Connection {
  readonly client: Client;
  readonly server: McpServerInfo;
  /** N2. A sentence that begins with "it"; null when `close` was called. */
  readonly ended: Promise<string | null>;
  readonly hasEnded: boolean;
  /** It answers, but what it says unasked is not heard any more. */
  readonly isDeaf: boolean;
  /** Resolves when nothing of it is left: no process, no socket. Never rejects. */
  close(): Promise<void>;
}

export interface ConnectionOrder {
  readonly args: McpSessionArgs;
  readonly target: Target;
  readonly policy: RequestPolicy;
  readonly timeoutMs: number;
  /** Gives the attempt up. */
  readonly signal: AbortSignal;
  readonly onListChanged: (list: ListName) => void;
  readonly tellLine: Tell;
}

/** @throws Fault: why there is no connection */
export async function openConnection(context: ActorContext, order: ConnectionOrder): Promise<Connection> {
  const { args, target, policy, timeoutMs, signal } = order;
  const { name } = args.server;
  const chatter = openChatter(name, target.mask, context.log, context.clock, order.tellLine);
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<string | null>();
  let hasEnded = false;
  const end = (how: string | null): void => {
    hasEnded = true;
    onEnd(how);
  };
  let isDeaf = false;
  let broken: { readonly how: string; readonly isLasting: boolean } | null = null;
  const open = openTransport(context, args.server, target, args.egress, {
    onErrorLine: chatter.errorLine,
    onBroken(how, isLasting) {
      broken ??= { how, isLasting };
      end(how);
    },
    onGap() {
      for (const list of LISTS) order.onListChanged(list);
    },
    onDeaf() {
      isDeaf = true;
    },
  });
  const client = new Client(
    { name: 'troupe', version: context.services.version },
    { capabilities: capabilitiesFor(policy) },
  );
  client.onclose = () => end('its connection was closed');
  client.onerror = (error) => {
    const line = target.mask(error.message).slice(0, INFO_CHARS_MAX);
    context.log.debug({ category: 'mcp', server: name, line }, 'an MCP connection reports');
  };
  answerServerRequests(client, context, policy);
  listen(client, chatter, order.onListChanged);

  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      end(null);
      await client.close().catch(() => undefined);
      await open.transport.close().catch(() => undefined);
      await open.release();
    })();
    return closing;
  };
  try {
    const transport = new WatchedTransport(open.transport, context.clock);
    // A transport that opens a stream first is not bounded by the SDK.
    await orGivenUp(
      client.connect(transport, { timeout: timeoutMs, signal }),
      ended,
      timeoutMs,
      signal,
      context,
    );
  } catch (error) {
    const before = broken;
    await close(); // N1
    // A pipe may break before its process is known to have ended; else what comes now is what our closing does to it.
    const cause = before ?? (error instanceof OverdueError ? null : broken);
    throw failureOf(error, cause, name, target, chatter.lastErrorLine);
  }
  if (client.getServerCapabilities()?.logging !== undefined) {
    // Some only speak when asked to; what a server makes of it is its own business.
    void client.setLoggingLevel('info').catch(() => undefined);
  }
  const version = client.getServerVersion();
  return {
    client,
    server: {
      name: version?.name.slice(0, INFO_CHARS_MAX) ?? name,
      version: version?.version.slice(0, INFO_CHARS_MAX) ?? '',
      protocol_version: client.getNegotiatedProtocolVersion() ?? '',
    },
    ended,
    get hasEnded() {
      return hasEnded;
    },
    get isDeaf() {
      return isDeaf;
    },
    close,
  };
}

function listen(client: Client, chatter: Chatter, onListChanged: (list: ListName) => void): void {
  client.setNotificationHandler('notifications/message', ({ params }) => {
    if (isMembers(params)) chatter.message(params);
  });
  client.setNotificationHandler('notifications/tools/list_changed', () => onListChanged('tools'));
  client.setNotificationHandler('notifications/prompts/list_changed', () => onListChanged('prompts'));
  client.setNotificationHandler('notifications/resources/list_changed', () => {
    onListChanged('resources');
    onListChanged('resource_templates');
  });
}

class OverdueError extends Error {
  constructor() {
    super('it did not answer in time');
  }
}

/** Rejects when the connection has ended, is given up, or takes too long. */
function orGivenUp(
  connecting: Promise<void>,
  ended: Promise<string | null>,
  timeoutMs: number,
  signal: AbortSignal,
  context: ActorContext,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    const timer = context.clock.startTimer(timeoutMs, () => reject(new OverdueError()));
    signal.addEventListener('abort', giveUp, { once: true });
    void connecting.then(resolve, reject).finally(() => {
      timer.cancel();
      signal.removeEventListener('abort', giveUp);
    });
    void ended.then((how) => reject(new Error(how ?? 'it was closed')));
  });
}

function failureOf(
  error: unknown,
  broken: { readonly how: string; readonly isLasting: boolean } | null,
  server: string,
  { mask }: Target,
  hint: string | null,
): Fault {
  if (broken === null) return connectFault(error, server, mask, hint);
  if (broken.isLasting)
    return mcpSessionFaults.mcp_config_invalid(`No connection to ${server}: ${broken.how}`);
  return connectFault(new Error(broken.how), server, mask, hint);
}
