// Transport: the one pool of connections of a thread to its model providers, and streamed answers over it.
// The hot path (a chat-completions stream) goes through undici's dispatcher and eventsource-parser: a third of the processor
// time of the SDK's own stream (docs/adr/0003-providers.md). SDK clients use the same pool through `fetch`.
// X1 HTTP/1.1, one connection a stream: silence, size and abort are then a property of the connection, and no stream waits
//    for another one's packets.
// X2 A reader gets what has arrived since it last asked, as one batch; a slow reader pauses the connection.
// X3 Closing an unfinished stream aborts its request at once. A finished one leaves its connection to the pool.
// X4 A connection obeys the egress policy of its provider, each policy with connections of its own. Redirects are not followed:
//    a key would go where nobody has sent it.
// X5 An answer is bounded in bytes, an error body in what is kept of it.

import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { type Dispatcher, fetch as undiciFetch } from 'undici';
import { type EgressPolicy, guardedConnector } from '../../egress/guard.ts';
import { AgentGroup } from './agent-group.ts';
import { createEventDecoder } from './event-decoder.ts';
import type { Connection } from './protocol.ts';
import { HttpFailure, UnfinishedAnswer } from './provider-failure.ts';
import type { SentBody } from './request-media.ts';

/** More than any model writes in one answer, and little enough to hold for a few hundred runs. */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Undelivered text above this pauses the connection. */
const PENDING_CHARS_MAX = 1024 * 1024;
/** What is read of an error's body: enough for its message. */
export const ERROR_BODY_BYTES_MAX = 64 * 1024;
/** A provider that does not even accept a connection is reported early, however patient its stream may be. */
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;

export interface EventStream {
  /** The payloads that have come since the last call, in order; null at the end or after `close`. @throws what broke the stream */
  take(): readonly string[] | null;
  /** The answer is complete: what may still come is read and thrown away, so that the connection can be used again. */
  leave(): void;
  /** Aborts the request unless it has ended or was left. */
  close(): void;
}

export interface Transport {
  /**
   * Posts JSON, or what was made of it, to `connection.baseUrl` + `path`; the answer is a stream of server-sent events. `onArrived` is called whenever there
   * is something to take, and when the stream is over: a function, and no promise for each chunk, which would outlive young generations.
   */
  post(
    connection: Connection,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: object | SentBody,
    onArrived: () => void,
  ): EventStream;
  /** A `fetch` over the same connections that gives up after the connection's timeout without a byte. */
  fetch(connection: Connection): typeof globalThis.fetch;
  /** Aborts everything. */
  close(): Promise<void>;
}

export interface TransportOptions {
  /** How names are resolved; the system's way when absent. */
  readonly lookup?: LookupFunction;
}

export function openTransport(options: TransportOptions = {}): Transport {
  const groups = new Map<EgressPolicy, AgentGroup>();
  /** X4. Most threads need one of them. */
  const agentsFor = ({ egress }: Connection): AgentGroup => {
    let agents = groups.get(egress);
    if (agents === undefined) {
      agents = new AgentGroup({
        allowH2: false, // X1
        connect: guardedConnector(egress, { timeoutMs: CONNECT_TIMEOUT_MS, ...options }),
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxResponseSize: ANSWER_BYTES_MAX, // X5
      });
      groups.set(egress, agents);
    }
    return agents;
  };
  return {
    post: (connection, path, headers, body, onArrived) =>
      postForEvents(agentsFor(connection), connection, path, headers, body, onArrived),
    fetch(connection) {
      const dispatcher = agentsFor(connection).dispatcher(connection.timeoutMs);
      // The SDKs speak the platform's fetch; undici's is the same function with a pool that we choose.
      return ((input: string, init?: object) =>
        undiciFetch(input, {
          ...init,
          redirect: 'manual',
          dispatcher,
        })) as unknown as typeof globalThis.fetch;
    },
    async close() {
      await Promise.all(Array.from(groups.values(), (agents) => agents.destroy()));
    },
  };
}

type Phase =
  | { readonly kind: 'open' }
  | { readonly kind: 'refused'; readonly failure: HttpFailure }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'left' }
  | { readonly kind: 'closed' };

function postForEvents(
  agents: AgentGroup,
  connection: Connection,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object | SentBody,
  onArrived: () => void,
): EventStream {
  const decoder = createEventDecoder();
  let phase: Phase = { kind: 'open' };
  let controller: Dispatcher.DispatchController | null = null;
  let pending: string[] = [];
  let pendingChars = 0;

  const enter = (next: Phase): void => {
    phase = next;
    onArrived();
  };
  const url = new URL(connection.baseUrl);
  const { bytes, pieces } = 'pieces' in body ? body : jsonBody(body);
  const request: Dispatcher.DispatchOptions = {
    origin: url.origin,
    path: `${url.pathname.replace(/\/+$/, '')}${path}${url.search}`,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(bytes),
      accept: 'text/event-stream',
      ...headers,
    },
    body: pieces as Readable, // The pool takes any iterable, though its types do not say so.
    headersTimeout: connection.timeoutMs,
    bodyTimeout: connection.timeoutMs,
  };

  const lease = agents.lease();
  lease.agent.dispatch(request, {
    onRequestStart(started) {
      controller = started;
      if (phase.kind === 'closed') started.abort(new UnfinishedAnswer('closed'));
    },
    onResponseStart(started, status, responseHeaders) {
      if (status < 200) return; // An interim response, with the answer behind it.
      started.rawHeaders = null; // A dozen small buffers, which would live as long as the stream.
      if (phase.kind !== 'open') return;
      if (status !== 200) phase = { kind: 'refused', failure: new HttpFailure(status, responseHeaders) };
      else if (isNoEventStream(responseHeaders['content-type'])) {
        phase = { kind: 'refused', failure: new HttpFailure(status, responseHeaders) };
      }
    },
    onResponseData(_controller, bytes) {
      if (phase.kind === 'refused') return phase.failure.append(bytes, ERROR_BODY_BYTES_MAX);
      if (phase.kind !== 'open') return;
      for (const payload of decoder.feed(bytes)) {
        pending.push(payload);
        pendingChars += payload.length;
      }
      if (pendingChars > PENDING_CHARS_MAX) controller?.pause(); // X2
      if (pending.length > 0) onArrived();
    },
    onResponseEnd() {
      lease.release();
      if (phase.kind === 'refused') return enter({ kind: 'failed', error: phase.failure });
      if (phase.kind === 'open') enter({ kind: 'ended' });
    },
    onResponseError(_controller, error) {
      lease.release();
      if (phase.kind === 'refused') return enter({ kind: 'failed', error: phase.failure });
      if (phase.kind === 'open') enter({ kind: 'failed', error });
    },
  });

  return {
    take() {
      if (phase.kind === 'closed' || phase.kind === 'left') return null;
      if (pending.length > 0) {
        const batch = pending; // X2
        pending = [];
        const wasPaused = pendingChars > PENDING_CHARS_MAX;
        pendingChars = 0;
        // Last, because what the connection has held back comes in during this very call.
        if (wasPaused) controller?.resume();
        return batch;
      }
      if (phase.kind === 'failed') throw phase.error;
      return phase.kind === 'ended' ? null : pending;
    },
    leave() {
      if (phase.kind !== 'open') return;
      controller?.resume();
      enter({ kind: 'left' }); // X3
    },
    close() {
      if (phase.kind !== 'open' && phase.kind !== 'refused') return;
      enter({ kind: 'closed' }); // X3
      controller?.abort(new UnfinishedAnswer('closed'));
    },
  };
}

/**
 * A body that is forgotten when it has been sent. The pool keeps a text or a buffer until the answer has ended: the whole prompt,
 * for minutes, which was 10 KB of each run with the shortest of questions.
 */
function jsonBody(value: object): { readonly bytes: number; readonly pieces: unknown } {
  const text = JSON.stringify(value);
  let unsent: string | null = text;
  const next = (): IteratorResult<string> => {
    const value = unsent;
    unsent = null;
    return value === null ? { done: true, value } : { done: false, value };
  };
  return { bytes: Buffer.byteLength(text), pieces: { [Symbol.iterator]: () => ({ next }) } };
}

/** Some servers mislabel their streams, so only what can be no stream at all is refused. */
function isNoEventStream(contentType: string | string[] | undefined): boolean {
  return /^(application\/json|text\/html)\b/i.test(String(contentType ?? ''));
}
