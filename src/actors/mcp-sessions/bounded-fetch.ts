// BoundedFetch: the requests of one HTTP session, over connections of its own that end with it.
// F1 A connection obeys the egress policy (ADR 11). Redirects are the SDK's to follow, within the same origin only; each is
//    a connection like any other.
// F2 An answer is bounded: as a whole, or event by event if it is a stream.
// F3 A stream may be silent for as long as it likes: pings and the deadlines of calls find out whether its server is alive.

import { Agent, fetch as undiciFetch } from 'undici';
import { type EgressPolicy, guardedConnector } from '../../egress/guard.ts';
import { MESSAGE_BYTES_MAX } from './stdio-transport.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Calls at once, and a few for streams and pings. */
const CONNECTIONS_MAX = 128;
const KEEP_ALIVE_MS = 10_000;
/** Some servers only begin to answer when they are done; the longest call that settings allow is bounded by its own deadline. */
const HEADERS_TIMEOUT_MS = 24 * 3600 * 1000;

export interface BoundedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Aborts everything. */
  close(): Promise<void>;
}

export function openBoundedFetch(egress: EgressPolicy): BoundedFetch {
  const agent = new Agent({
    allowH2: false,
    connections: CONNECTIONS_MAX,
    connect: guardedConnector(egress, { timeoutMs: CONNECT_TIMEOUT_MS }), // F1
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: 0, // F3
  });
  const boundedFetch = async (input: string | URL, init?: object): Promise<Response> => {
    const response = await undiciFetch(input, { ...init, dispatcher: agent });
    return bounded(response as unknown as Response);
  };
  return {
    fetch: boundedFetch as unknown as typeof globalThis.fetch,
    close: () => agent.destroy(),
  };
}

/** F2. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
  const { status, statusText, headers } = response;
  const body = response.body.pipeThrough(isStream ? eventLimit() : totalLimit());
  return new Response(body, { status, statusText, headers });
}

function totalLimit(): TransformStream<Uint8Array, Uint8Array> {
  let total = 0;
  return new TransformStream({
    transform(bytes, controller) {
      total += bytes.length;
      if (total > MESSAGE_BYTES_MAX) controller.error(tooLarge());
      else controller.enqueue(bytes);
    },
  });
}

/** Counts what has come since the last empty line, which ends an event. */
function eventLimit(): TransformStream<Uint8Array, Uint8Array> {
  const CARRIAGE_RETURN = 0x0d;
  const NEWLINE = 0x0a;
  let sinceEvent = 0;
  let isAtLineStart = false;
  return new TransformStream({
    transform(bytes, controller) {
      for (const byte of bytes) {
        sinceEvent += 1;
        if (byte === NEWLINE) {
          if (isAtLineStart) sinceEvent = 0;
          isAtLineStart = true;
        } else if (byte !== CARRIAGE_RETURN) {
          isAtLineStart = false;
        }
      }
      if (sinceEvent > MESSAGE_BYTES_MAX) controller.error(tooLarge());
      else controller.enqueue(bytes);
    },
  });
}

function tooLarge(): Error {
  return new Error(`an answer above ${MESSAGE_BYTES_MAX} bytes`);
}
