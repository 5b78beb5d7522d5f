// WatchedTransport: any transport, with a look at what passes.
// W1 What a server says unasked (notifications, requests of its own) is let through up to a rate; the rest is dropped. One that
//    goes on far above it loses its connection.
// W2 A request whose answer was to come on a stream of its own, and whose stream has ended without it, is answered an error:
//    it would be waited for until its deadline.
// W3 The stream of a request that was cancelled is let go, once the server has been told.

import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { Clock } from '../../std/clock.ts';

const UNASKED_PER_SECOND_MAX = 500;
/** Dropped ones in a row of seconds that each had too many. */
const DROPPED_MAX = 20_000;
const SECOND_MS = 1_000;

/** The code of the error that W2 answers; of the range that the protocol leaves to implementations. */
export const STREAM_ENDED = -32_098;

export class WatchedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly setProtocolVersion: (version: string) => void;
  readonly #inner: Transport;
  readonly #clock: Clock;
  readonly #unanswered = new Map<RequestId, AbortController>();
  #secondBeganMs = 0;
  #unasked = 0;
  #dropped = 0;

  constructor(inner: Transport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
    this.setProtocolVersion = (version) => inner.setProtocolVersion?.(version);
    const { onclose, onerror } = inner;
    inner.onclose = () => {
      onclose?.();
      this.onclose?.();
    };
    inner.onerror = (error) => {
      onerror?.(error);
      this.onerror?.(error);
    };
    inner.onmessage = (message, extra) => {
      // Not by the schemas of the SDK: in a flood each message costs what its check costs.
      if ('method' in message) {
        if (!this.#mayPass()) return;
      } else if (message.id !== undefined) {
        this.#unanswered.delete(message.id);
      }
      this.onmessage?.(message, extra);
    };
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) {
      await this.#inner.send(message, options);
      if (isJSONRPCNotification(message)) this.#letGo(message);
      return;
    }
    const { id } = message;
    const release = new AbortController();
    this.#unanswered.set(id, release);
    try {
      await this.#inner.send(message, {
        ...options,
        requestSignal: release.signal,
        onRequestStreamEnd: () => this.#streamEnded(id),
      });
    } catch (error) {
      this.#unanswered.delete(id);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** W2. */
  #streamEnded(id: RequestId): void {
    if (!this.#unanswered.delete(id)) return;
    const error = { code: STREAM_ENDED, message: 'the stream ended before the answer' };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  /** W3. */
  #letGo({ method, params }: JSONRPCNotification): void {
    const id = method === 'notifications/cancelled' ? (params?.['requestId'] as RequestId) : undefined;
    if (id === undefined) return;
    this.#unanswered.get(id)?.abort();
    this.#unanswered.delete(id);
  }

  /** W1. */
  #mayPass(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#secondBeganMs >= SECOND_MS) {
      if (this.#unasked <= UNASKED_PER_SECOND_MAX) this.#dropped = 0;
      this.#secondBeganMs = nowMs;
      this.#unasked = 0;
    }
    this.#unasked += 1;
    if (this.#unasked <= UNASKED_PER_SECOND_MAX) return true;
    this.#dropped += 1;
    if (this.#dropped === DROPPED_MAX) {
      this.onerror?.(new Error('it does not stop sending notifications'));
      void this.close();
    }
    return false;
  }
}
