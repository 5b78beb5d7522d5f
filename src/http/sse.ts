// SSE: tails a stream of frame batches into one text/event-stream response.
// S1 Framing to the byte: `id: N` (stored events only), `event: NAME`, `data: ONE-LINE-JSON`, a blank line.
// S2 One batch is one write. The next batch is pulled when the reader has taken this one: a stopped reader holds at most
//    one batch beside the socket's own buffer, and its producer rests.
// S3 A producer that fails before its first batch answers as an ordinary JSON error. An empty first batch only says
//    "accepted". After HEARTBEAT_MS without a word the response opens anyway, so that nobody waits in the dark.
// S4 However it ends (reader gone, producer done or failed, edge closing), the producer is stopped and no timer is left.

import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../std/clock.ts';
import { errorText, Fault } from '../std/errors.ts';
import type { Log } from '../std/log.ts';

export interface SseFrame {
  /** The sequence number that a reader resumes after; absent for frames that are not stored. */
  readonly seq?: number;
  readonly event: string;
  /** JSON text without a line break. */
  readonly data: string;
}

/** What a reader is given: frames to start with, and the batches that follow. */
export interface Tail {
  readonly first: readonly SseFrame[];
  readonly batches: AsyncIterator<readonly SseFrame[]>;
}

/** Shorter than the idle limit of any proxy that we know of. */
export const HEARTBEAT_MS = 10_000;
/** A reader that takes nothing for so long is gone, whatever its TCP says; it can come back with its last id. */
export const STALL_MAX_MS = 15 * 60_000;

const HEARTBEAT = Buffer.from(': ping\n\n');
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/** S1. */
function frameText(frames: readonly SseFrame[]): string {
  let text = '';
  for (const { seq, event, data } of frames) {
    text +=
      seq === undefined
        ? `event: ${event}\ndata: ${data}\n\n`
        : `id: ${seq}\nevent: ${event}\ndata: ${data}\n\n`;
  }
  return text;
}

export interface EventStreamOptions {
  readonly response: ServerResponse;
  /** What the hooks before put on the reply: CORS. */
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, when the first byte is about to leave: from then on the response is ours. */
  readonly onOpen: () => void;
}

export type Ending = 'finished' | 'reader_left' | 'stalled' | 'closed' | 'failed';

export interface EventStream {
  /** Tails until the end. @throws what the producer threw before the response was opened (S3). */
  tail(opening: (signal: AbortSignal) => Tail | Promise<Tail>): Promise<Ending>;
  /** Ends the response: the edge is closing. */
  close(): void;
}

const GONE = Symbol('gone');

export function eventStream({ response, headers, clock, log, onOpen }: EventStreamOptions): EventStream {
  const abort = new AbortController();
  let ending: Ending | null = null;
  let opened = false;
  /** Ends the wait that the loop is in, whatever it waits for. */
  let leave: () => void = () => {};
  let heartbeat: Timer | null = null;
  let lastWriteMs = clock.monotonicMs();

  const end = (how: Ending): void => {
    if (ending !== null) return;
    ending = how;
    heartbeat?.cancel();
    response.off('close', onClose);
    abort.abort();
    leave();
  };
  const onClose = (): void => end('reader_left');
  response.on('close', onClose);
  // A broken pipe is how a reader leaves; `close` follows.
  response.on('error', (error) => log.debug({ detail: errorText(error) }, 'event stream write failed'));
  // The reader may have left while the request was on its way here.
  if (response.destroyed) end('reader_left');

  /** Settles with the promise, or with GONE as soon as the stream ends. */
  const unlessGone = <T>(work: Promise<T>): Promise<T | typeof GONE> =>
    new Promise((resolve, reject) => {
      leave = () => resolve(GONE);
      if (ending !== null) resolve(GONE);
      work.then(resolve, reject);
    });

  const open = (): void => {
    if (opened) return;
    opened = true;
    onOpen();
    if (response.destroyed) return;
    response.socket?.setNoDelay(true);
    response.writeHead(200, { ...headers, ...STREAM_HEADERS });
    response.flushHeaders();
  };

  const write = async (bytes: Buffer): Promise<void> => {
    lastWriteMs = clock.monotonicMs();
    if (response.write(bytes)) return;
    const stalled = clock.startTimer(STALL_MAX_MS, () => {
      end('stalled');
      response.destroy();
    });
    await unlessGone(new Promise<void>((resolve) => response.once('drain', resolve)));
    stalled.cancel();
    lastWriteMs = clock.monotonicMs();
  };

  /** One timer for the life of the stream, not one per batch. A reader that is behind is not silent, it is full. */
  const beat = (): void => {
    const silentMs = clock.monotonicMs() - lastWriteMs;
    if (silentMs >= HEARTBEAT_MS && !response.writableNeedDrain) {
      open(); // S3
      lastWriteMs = clock.monotonicMs();
      response.write(HEARTBEAT);
    }
    const nextMs = HEARTBEAT_MS - (clock.monotonicMs() - lastWriteMs);
    heartbeat = clock.startTimer(nextMs > 0 ? nextMs : HEARTBEAT_MS, beat);
  };

  const send = async (frames: readonly SseFrame[]): Promise<void> => {
    open();
    if (frames.length > 0) await write(Buffer.from(frameText(frames)));
  };

  const pump = async ({ first, batches }: Tail): Promise<void> => {
    try {
      if (first.length > 0) await send(first);
      while (ending === null) {
        const next = await unlessGone(batches.next());
        if (next === GONE || next.done === true) return;
        await send(next.value);
      }
    } finally {
      // Not awaited: a producer that is slow to stop must not hold the response. The signal has told it already.
      batches
        .return?.()
        .catch((error) => log.debug({ detail: errorText(error) }, 'event stream producer stopped badly'));
    }
  };

  return {
    close: () => end('closed'),
    async tail(opening) {
      try {
        const tail = await opening(abort.signal);
        if (ending === null) heartbeat = clock.startTimer(HEARTBEAT_MS, beat);
        await pump(tail);
        end('finished');
      } catch (error) {
        const wasOver = ending !== null;
        end('failed');
        if (!opened && !wasOver) throw error; // S3
        // What an aborted producer throws is the echo of its being stopped.
        if (!wasOver) response.write(frameText([failureFrame(error, log)]));
      }
      open();
      if (!response.destroyed) response.end();
      return ending ?? 'finished';
    },
  };
}

/** The reader's last word when its producer broke: a declared fault is told, anything else is only logged. */
function failureFrame(error: unknown, log: Log): SseFrame {
  if (!(error instanceof Fault)) log.error({ detail: errorText(error) }, 'event stream failed');
  const sentence = error instanceof Fault ? error.message : 'Internal error';
  return { event: 'error', data: JSON.stringify({ error: sentence }) };
}
