// Endpoint: the MCP protocol over HTTP, request by request. Loaded when the first one comes: its package takes 30 MB.
// E1 A client of the 2026 revision sends all that a request needs with it: a server is made for it, and gone with its answer.
// E2 A client of a 2025 revision opens a session, without which its cancel, a request of its own, would find no call.
// E3 In E1 the end of the connection is the client's cancel; in E2 only its word is. That the service stops is neither.

import { type AuthInfo, createMcpHandler, isLegacyRequest, SdkError } from '@modelcontextprotocol/server';
import { mcpServer, type ToolOffer } from '../../mcp-server/server.ts';
import type { Clock } from '../../std/clock.ts';
import { errorText } from '../../std/errors.ts';
import { systemRandom } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import type { ActorDoor } from '../route.ts';
import { actorOffer } from './actor-offer.ts';
import { Sessions } from './sessions.ts';

const SESSION_HEADER = 'mcp-session-id';
/** Of the 2026 revision: streams that wait for changes. Nothing that is offered changes, so nobody needs many. */
const SUBSCRIPTIONS_MAX = 64;
const CALL_ID_DIGITS = 32;

export interface EndpointOptions {
  readonly door: ActorDoor;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

export interface Endpoint {
  /** `body` is the request's own, parsed. */
  serve(request: Request, body: unknown, userId: string): Promise<Response>;
  close(): Promise<void>;
}

export function openEndpoint({ door, clock, log, version }: EndpointOptions): Endpoint {
  let isClosing = false;
  const offerFor = (userId: string, isCancel: (signal: AbortSignal) => boolean): ToolOffer =>
    actorOffer({
      door,
      userId,
      newCallId: () => systemRandom.hex(CALL_ID_DIGITS),
      isCancel: (signal) => !isClosing && isCancel(signal),
    });
  const sessions = new Sessions({
    clock,
    random: systemRandom,
    version,
    offerFor: (userId) => offerFor(userId, (signal) => !(signal.reason instanceof SdkError)),
  });
  const perRequest = createMcpHandler(
    ({ authInfo }) =>
      mcpServer(
        offerFor(String(authInfo?.clientId), () => true),
        version,
      ),
    {
      legacy: 'reject',
      maxSubscriptions: SUBSCRIPTIONS_MAX,
      onerror: (error) => log.debug({ detail: errorText(error) }, 'an MCP request was refused'),
    },
  );
  return {
    async serve(request, body, userId) {
      const isSessionful = await isLegacyRequest(request, body);
      if (!isSessionful) return perRequest.fetch(request, { parsedBody: body, authInfo: asUser(userId) }); // E1
      return sessions.serve(request, body, request.headers.get(SESSION_HEADER), userId); // E2
    },
    async close() {
      isClosing = true; // E3
      await Promise.all([sessions.closeAll(), perRequest.close()]);
    },
  };
}

/** The package hands this on to whoever makes the server; it reads none of it. */
function asUser(userId: string): AuthInfo {
  return { token: '', clientId: userId, scopes: [] };
}
