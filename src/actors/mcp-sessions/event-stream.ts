// EventStream: the stream on which a server over streamable HTTP says what it was not asked for: that its lists have changed.
// E1 It is opened again when it ends, but not at once, and ever later if it never lasts: whatever delay the server names.
// E2 What was said between two of them is lost, unless the server says it again (`Last-Event-ID`): lists may have changed.
// E3 When it cannot be opened again the SDK gives it up. Then the connection is deaf, though its requests are answered.

import type { StreamableHTTPClientTransportOptions } from '@modelcontextprotocol/client';
import type { Clock } from '../../std/clock.ts';

type Options = StreamableHTTPClientTransportOptions;
type Fetch = typeof globalThis.fetch;

const DELAY_MIN_MS = 1_000;
const DELAY_MAX_MS = 30_000;
/** A stream that was open for so long has lasted; some proxies end it after a minute or less. */
const LASTING_MS = 20_000;
/** As the SDK says it. */
const GIVEN_UP = /^Maximum reconnection attempts/;

export interface EventStreamHooks {
  /** E2. */
  onGap(): void;
  /** E3. */
  onDeaf(): void;
}

export interface EventStream {
  readonly fetch: Fetch;
  readonly reconnectionScheduler: NonNullable<Options['reconnectionScheduler']>;
  onerror(error: Error): void;
}

export function eventStream(fetch: Fetch, clock: Clock, { onGap, onDeaf }: EventStreamHooks): EventStream {
  let openedMs: number | null = null;
  let briefOnes = 0;
  return {
    async fetch(input, init) {
      const response = await fetch(input, init);
      const isStream = init?.method === 'GET' && response.ok;
      if (!isStream) return response;
      const isFirst = openedMs === null;
      openedMs = clock.monotonicMs();
      if (!isFirst && !new Headers(init.headers).has('last-event-id')) onGap();
      return response;
    },
    reconnectionScheduler(reconnect, delayMs) {
      const hasLasted = openedMs !== null && clock.monotonicMs() - openedMs >= LASTING_MS;
      briefOnes = hasLasted ? 0 : briefOnes + 1;
      const grownMs = DELAY_MIN_MS * 2 ** Math.max(0, briefOnes - 1);
      const timer = clock.startTimer(Math.min(Math.max(delayMs, grownMs), DELAY_MAX_MS), reconnect);
      return () => timer.cancel();
    },
    onerror({ message }) {
      if (GIVEN_UP.test(message)) onDeaf();
    },
  };
}
