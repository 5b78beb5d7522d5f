// Sessions: the clients of the protocol's 2025 revisions, which begin with a handshake and refer to it in every request.
// Connection state, as W1 of the edge allows: what they work on lives in actors, and outlives them.
// S1 An id cannot be guessed (128 random bits), and finds a session only for the user who opened it.
// S2 At most SESSIONS_MAX at once. A newcomer takes the place of the one that is idle for longest, when its handshake was taken and
//    not before; there is none for it when all have a call under way.
// S3 A session that was not used for SESSION_IDLE_MS is forgotten; its client is told 404 and begins anew.

import type { Server } from '@modelcontextprotocol/server';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { mcpServer, type ToolOffer } from '../../mcp-server/server.ts';
import type { Clock, Timer } from '../../std/clock.ts';
import type { RandomSource } from '../../std/ids.ts';
import { edgeFaults } from '../errors.ts';
import { Replay } from './replay.ts';

/** Of all users: each holds a protocol server of some ten kilobytes. */
export const SESSIONS_MAX = 256;
export const SESSION_IDLE_MS = 30 * 60_000;
const SWEEP_INTERVAL_MS = 60_000;
/** When a client whose connection broke is to come back. */
const RETRY_MS = 1_000;
const ID_DIGITS = 32;

interface Session {
  readonly userId: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAtMs: number;
  callsOpen: number;
}

export interface SessionsOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly version: string;
  readonly offerFor: (userId: string) => ToolOffer;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** By id, the one that was used longest ago first. */
  readonly #sessions = new Map<string, Session>();
  #sweep: Timer | null = null;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Serves a request of an open session, or opens one. `id` as the client sent it. @throws sessions_full */
  async serve(request: Request, body: unknown, id: string | null, userId: string): Promise<Response> {
    if (id === null) return this.#serveFirst(request, body, userId);
    const session = this.#sessions.get(id);
    if (session === undefined || session.userId !== userId) return sessionUnknown(); // S1
    this.#touch(id, session);
    return session.transport.handleRequest(request, { parsedBody: body });
  }

  async closeAll(): Promise<void> {
    this.#sweep?.cancel();
    this.#sweep = null;
    await Promise.all([...this.#sessions.keys()].map((id) => this.#close(id)));
  }

  /** What is no handshake is refused by the transport; then nothing is kept of it. */
  async #serveFirst(request: Request, body: unknown, userId: string): Promise<Response> {
    const { random, version, offerFor, clock } = this.#options;
    let opened: string | null = null;
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => random.hex(ID_DIGITS),
      eventStore: new Replay(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => {
        opened = id;
        const leaving = this.#isFull ? this.#idlest() : undefined;
        if (leaving !== undefined) void this.#close(leaving);
        this.#sessions.set(id, session);
        this.#sweep ??= clock.startTimer(SWEEP_INTERVAL_MS, this.#forgetIdle);
      },
      // DELETE: its client is done with it.
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const server = mcpServer(
      this.#counting(offerFor(userId), () => session),
      version,
    );
    const session: Session = { userId, server, transport, usedAtMs: clock.monotonicMs(), callsOpen: 0 };
    if (this.#isFull && this.#idlest() === undefined) {
      throw edgeFaults.sessions_full('Too many MCP sessions are open');
    }
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (opened === null) await server.close();
    return response;
  }

  /** A session with a call under way is in use, however long that takes. */
  #counting(offer: ToolOffer, sessionOf: () => Session): ToolOffer {
    return {
      tools: () => offer.tools(),
      call: async (name, given, options) => {
        const session = sessionOf();
        session.callsOpen += 1;
        try {
          return await offer.call(name, given, options);
        } finally {
          session.callsOpen -= 1;
          session.usedAtMs = this.#options.clock.monotonicMs();
        }
      },
    };
  }

  #touch(id: string, session: Session): void {
    session.usedAtMs = this.#options.clock.monotonicMs();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  get #isFull(): boolean {
    return this.#sessions.size >= SESSIONS_MAX;
  }

  /** S2. Undefined when all have a call under way. */
  #idlest(): string | undefined {
    for (const [id, { callsOpen }] of this.#sessions) if (callsOpen === 0) return id;
    return undefined;
  }

  /** S3. */
  readonly #forgetIdle = (): void => {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [id, { usedAtMs, callsOpen }] of this.#sessions) {
      if (callsOpen === 0 && nowMs - usedAtMs >= SESSION_IDLE_MS) void this.#close(id);
    }
    const hasMore = this.#sessions.size > 0;
    this.#sweep = hasMore ? this.#options.clock.startTimer(SWEEP_INTERVAL_MS, this.#forgetIdle) : null;
  };

  async #close(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.server.close();
  }
}

function sessionUnknown(): Response {
  const error = { code: -32001, message: 'Session not found' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
