// GuardedFetch: the platform's fetch for URLs that an MCP server has named. Small documents, one deadline each.
// W1 Where a request may go is decided by where the configured server is (see `policyBeside`), and checked as it connects.
// W2 Plain http goes to this machine only; nowhere else would what is sent stay between the two.
// W3 What carries a secret is not redirected. A document may be, within its origin.
// W4 What went wrong is one of our own words: no text of the other side gets any further.

import { Agent, request } from 'undici';
import { type EgressPolicy, EgressRefused, guardedConnector, isLoopbackName } from '../../egress/guard.ts';
import type { Clock } from '../../std/clock.ts';

const CONNECT_TIMEOUT_MS = 4_000;
/** Of one request, its body included. */
const ANSWER_MS_MAX = 10_000;
const CONNECTIONS_MAX = 4;
const IDLE_MS = 4_000;
/** Metadata and tokens are a few kilobytes. */
const ANSWER_BYTES_MAX = 128 * 1024;
const HEADER_BYTES_MAX = 16 * 1024;

export type FetchFailureReason =
  | 'unreachable'
  | 'late'
  | 'too large'
  | 'redirected'
  | 'failing'
  | 'plain http'
  | 'address not allowed';

export class FetchFailure extends Error {
  readonly reason: FetchFailureReason;
  constructor(reason: FetchFailureReason) {
    super(`A request for the authorization failed: ${reason}`);
    this.name = 'FetchFailure';
    this.reason = reason;
  }
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface GuardedFetch {
  /** A fetch under that policy; aborted by the signal. */
  under(policy: EgressPolicy, signal: AbortSignal): Fetch;
  close(): Promise<void>;
}

export function openGuardedFetch(clock: Clock): GuardedFetch {
  const agents = new Map<EgressPolicy, Agent>();
  /** A connection that was opened under one policy is not used under another. */
  const agentFor = (policy: EgressPolicy): Agent => {
    let agent = agents.get(policy);
    if (agent === undefined) {
      agent = new Agent({
        connections: CONNECTIONS_MAX,
        keepAliveTimeout: IDLE_MS,
        maxHeaderSize: HEADER_BYTES_MAX,
        connect: guardedConnector(policy, { timeoutMs: CONNECT_TIMEOUT_MS }),
      });
      agents.set(policy, agent);
    }
    return agent;
  };

  return {
    under: (policy, signal) => async (input, init) => {
      const url = new URL(input);
      if (!isConfidential(url)) throw new FetchFailure('plain http'); // W2
      const abort = new AbortController();
      const deadline = clock.startTimer(ANSWER_MS_MAX, () => abort.abort());
      try {
        const answer = await request(url, {
          dispatcher: agentFor(policy),
          method: init?.method ?? 'GET',
          headers: [...new Headers(init?.headers)].flat(),
          body: init?.body === undefined || init.body === null ? null : String(init.body),
          signal: AbortSignal.any([signal, abort.signal]),
        });
        const text = await textWithin(answer.body);
        if (text === null) throw new FetchFailure('too large');
        refuse(answer.statusCode, Boolean(init?.body));
        return responseOf(answer.statusCode, answer.headers, text);
      } catch (error) {
        throw failureOf(error, abort.signal);
      } finally {
        deadline.cancel();
      }
    },
    async close() {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  };
}

/** W2. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname));
}

/** W3; and a server that is failing or overrun has said nothing about what it was asked. */
function refuse(status: number, isPost: boolean): void {
  if (isPost && status >= 300 && status < 400) throw new FetchFailure('redirected');
  // Some proxies answer 502 for a document that is not there.
  if (status === 429 || (status >= 500 && (isPost || status !== 502))) throw new FetchFailure('failing');
}

/** Null when there is more; leaving the loop cuts the connection. */
async function textWithin(body: AsyncIterable<Buffer>): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > ANSWER_BYTES_MAX) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** The platform's own response: the SDK looks for that very class. */
function responseOf(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  text: string,
): Response {
  if (status < 200 || status > 599) throw new FetchFailure('failing');
  const kept = new Headers();
  for (const name of ['content-type', 'location', 'www-authenticate']) {
    const value = headers[name];
    if (value !== undefined) kept.set(name, String(value));
  }
  return new Response(BODILESS.has(status) ? null : text, { status, headers: kept });
}

/** W4. */
function failureOf(error: unknown, deadline: AbortSignal): unknown {
  if (error instanceof FetchFailure) return error;
  if (error instanceof EgressRefused) return new FetchFailure('address not allowed');
  return new FetchFailure(deadline.aborted ? 'late' : 'unreachable');
}
