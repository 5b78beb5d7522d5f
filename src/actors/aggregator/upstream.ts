// Upstream: requests to the aggregator that are not model calls. Small JSON, asked rarely, each with a deadline and a bound.
// U1 What went wrong is one word: neither the aggregator's text nor an error's gets any further, for either may hold a key.
// U2 Redirects are not followed: a key would go where nobody has sent it.

import { Agent, request } from 'undici';
import { guardedConnector } from '../../egress/guard.ts';
import type { Clock } from '../../std/clock.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_MS_MAX = 12_000;
const CONNECTIONS_MAX = 8;
/** All that a route hands on. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** The catalog has some hundreds of models, at some kilobytes each. */
export const CATALOG_BYTES_MAX = 16 * 1024 * 1024;

/** Holds the key: never logged, never sent to a client. */
export interface UpstreamAccess {
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export type UpstreamAnswer =
  | { readonly kind: 'answered'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly status: number }
  /** U1. */
  | { readonly kind: 'failed'; readonly why: 'unreachable' | 'late' | 'too large' | 'no JSON' };

export interface Upstream {
  get(access: UpstreamAccess, path: string, bytesMax?: number): Promise<UpstreamAnswer>;
  post(access: UpstreamAccess, path: string, body: object): Promise<UpstreamAnswer>;
  /** Aborts everything. */
  close(): Promise<void>;
}

export function openUpstream(clock: Clock): Upstream {
  // The address is the operator's own, like those of the built-in providers.
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    connect: guardedConnector('any', { timeoutMs: CONNECT_TIMEOUT_MS }),
  });

  const send = async (
    { baseUrl, apiKey }: UpstreamAccess,
    path: string,
    bytesMax: number,
    body?: object,
  ): Promise<UpstreamAnswer> => {
    const abort = new AbortController();
    const deadline = clock.startTimer(ANSWER_MS_MAX, () => abort.abort());
    try {
      const response = await request(baseUrl.replace(/\/+$/, '') + path, {
        dispatcher: agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: abort.signal,
      });
      if (response.statusCode !== 200) {
        // What is not read of it ends with an error of its own, which says nothing new.
        response.body.on('error', () => undefined).destroy();
        return { kind: 'refused', status: response.statusCode };
      }
      const text = await textWithin(response.body, bytesMax);
      return text === null ? { kind: 'failed', why: 'too large' } : parsed(text);
    } catch {
      return { kind: 'failed', why: abort.signal.aborted ? 'late' : 'unreachable' };
    } finally {
      deadline.cancel();
    }
  };

  return {
    get: (access, path, bytesMax = ANSWER_BYTES_MAX) => send(access, path, bytesMax),
    post: (access, path, body) => send(access, path, ANSWER_BYTES_MAX, body),
    close: () => agent.destroy(),
  };
}

/** The `data` that the aggregator wraps its records in; null when that is no object. */
export function dataOf(answer: UpstreamAnswer): Readonly<Record<string, unknown>> | null {
  if (answer.kind !== 'answered') return null;
  const data = memberOf(answer.body, 'data');
  return isObject(data) ? data : null;
}

export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null when there is more; leaving the loop cuts the connection. */
async function textWithin(body: AsyncIterable<Buffer>, bytesMax: number): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > bytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function parsed(text: string): UpstreamAnswer {
  try {
    return { kind: 'answered', body: JSON.parse(text) };
  } catch {
    return { kind: 'failed', why: 'no JSON' };
  }
}
