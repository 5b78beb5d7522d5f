// SSE: tails a stream of frame batches into one text/event-stream response (framing: sse-framing.ts).
// S2 One batch is one write. The next batch is pulled when the reader has taken this one: a stopped reader holds at most
//    one batch beside the socket's own buffer and what its producer has ready, and its producer rests.
// S3 A producer that fails before its first batch answers as an ordinary JSON error. An empty first batch only says
//    "accepted". After HEARTBEAT_MS without a word the response opens anyway, so that nobody waits in the dark.
// S4 However it ends (reader gone, producer done or failed, edge closing), the producer is stopped and no timer is left.
// S6 Nothing is made for a batch but its write: with thousands of readers, that is what an event costs (see std/pulled.ts).

import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../std/clock.ts';
import { errorText, Fault } from '../std/errors.ts';
import type { Log } from '../std/log.ts';
import { type Pulled, pulledFrom, type Taker } from '../std/pulled.ts';
import { type FailureDialect, failureOf } from './errors.ts';
import { chunkOf, HEARTBEAT, payloadOf, type SseFrame } from './sse-framing.ts';

/** What a reader is given: frames to start with, and the batches that follow. */
export interface Tail {
  readonly first: readonly SseFrame[];
  readonly batches: AsyncIterator<readonly SseFrame[]>;
}

/** Shorter than the idle limit of any proxy that we know of. */
export const HEARTBEAT_MS = 10_000;
/** A reader that takes nothing for so long is gone, whatever its TCP says; it can come back with its last id. */
export const STALL_MAX_MS = 15 * 60_000;

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export interface EventStreamOptions {
  readonly response: ServerResponse;
  /** What the hooks before put on the reply: CORS. */
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** How a failure is told once the response is open; as an `error` event when absent. */
  readonly failures: FailureDialect | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, when the first byte is about to leave: from then on the response is ours. */
  readonly onOpen: () => void;
}

export type Ending = 'finished' | 'reader_left' | 'stalled' | 'closed' | 'failed';

/** Why the producer's signal is aborted; a constant, as making an error with its stack is a good part of an ending. */
const ENDED = 'the event stream has ended';

export class EventStream implements Taker<readonly SseFrame[]> {
  readonly #options: EventStreamOptions;
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #ending: Ending | null = null;
  /** What the producer threw, if that was the ending. */
  #failure: unknown;
  #isOpen = false;
  #batches: AsyncIterator<readonly SseFrame[]> | null = null;
  #source: Pulled<readonly SseFrame[]> | null = null;
  /** For the producer's next batch, or for the reader to take the last one. */
  #isWaiting = false;
  #isPulling = false;
  #heartbeat: Timer | null = null;
  /** What the reader has not taken yet stands in it. */
  #full: Writable | null = null;
  #stalled: Timer | null = null;
  #lastWriteMs: number;

  constructor(options: EventStreamOptions) {
    const { response, clock, log } = options;
    this.#options = options;
    this.#lastWriteMs = clock.monotonicMs();
    response.on('close', this.#onClose);
    // A broken pipe is how a reader leaves; `close` follows.
    response.on('error', (error) => log.debug({ detail: errorText(error) }, 'event stream write failed'));
    // The reader may have left while the request was on its way here.
    if (response.destroyed) this.#end('reader_left');
  }

  /** Tails until the end. @throws what the producer threw before the response was opened (S3). */
  async tail(opening: (signal: AbortSignal) => Tail | Promise<Tail>): Promise<Ending> {
    try {
      this.#begin(await opening(this.#abort.signal));
    } catch (error) {
      this.fail(error);
    }
    await this.#over.promise;
    const { response, failures, log } = this.#options;
    if (this.#ending === 'failed') {
      if (!this.#isOpen) throw this.#failure; // S3
      this.#send(chunkOf([failureFrame(this.#failure, failures, log)]));
    }
    this.#open();
    if (!response.destroyed) response.end();
    return this.#ending ?? 'finished';
  }

  /** Ends the response: the edge is closing. */
  close(): void {
    this.#end('closed');
  }

  item(frames: readonly SseFrame[]): void {
    if (this.#ending !== null) return;
    try {
      this.#isWaiting = !this.#write(frames);
    } catch (error) {
      this.fail(error);
    }
    this.#pull();
  }

  end(): void {
    this.#end('finished');
  }

  /** What a producer throws that was stopped is the echo of that. */
  fail(error: unknown): void {
    if (this.#ending !== null) return;
    this.#failure = error;
    this.#end('failed');
  }

  #begin({ first, batches }: Tail): void {
    this.#batches = batches;
    this.#source = pulledFrom(batches);
    if (this.#ending !== null) {
      this.#stopProducer();
      return;
    }
    this.#heartbeat = this.#options.clock.startTimer(HEARTBEAT_MS, this.#beat);
    if (first.length > 0) this.item(first);
    else this.#pull();
  }

  /** A loop, as the next batch may be there already: it comes while `pull` is running, and is written in its turn. */
  #pull(): void {
    if (this.#isPulling) return;
    this.#isPulling = true;
    while (!this.#isWaiting && this.#ending === null) {
      this.#isWaiting = true;
      this.#source?.pull(this);
    }
    this.#isPulling = false;
  }

  /** False when the reader is full: `drain` goes on (S2). */
  #write(frames: readonly SseFrame[]): boolean {
    const { response, clock } = this.#options;
    this.#open();
    if (frames.length === 0) return true;
    this.#lastWriteMs = clock.monotonicMs();
    const full = this.#send(chunkOf(frames));
    if (full === null) return true;
    this.#full = full.once('drain', this.#onDrain);
    this.#stalled = clock.startTimer(STALL_MAX_MS, () => {
      this.#end('stalled');
      response.destroy();
    });
    return false;
  }

  /**
   * S6: one write to the socket, where Node's own framing of a chunk makes four, holds them for a tick and puts them together
   * again: a third of what an event cost the edge thread. Answers what is full now and will tell when it has drained.
   */
  #send(chunk: Buffer): Writable | null {
    const { response } = this.#options;
    const { socket } = response;
    // A reader of HTTP/1.0 gets no chunks, and one whose turn in a pipeline has not come has no socket.
    if (socket === null || !response.chunkedEncoding)
      return response.write(payloadOf(chunk)) ? null : response;
    return socket.write(chunk) ? null : socket;
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { response, headers, onOpen } = this.#options;
    onOpen();
    if (response.destroyed) return;
    response.socket?.setNoDelay(true);
    response.writeHead(200, { ...headers, ...STREAM_HEADERS });
    response.flushHeaders();
  }

  #end(how: Ending): void {
    if (this.#ending !== null) return;
    this.#ending = how;
    this.#heartbeat?.cancel();
    this.#stalled?.cancel();
    this.#options.response.off('close', this.#onClose);
    this.#full?.off('drain', this.#onDrain);
    this.#abort.abort(ENDED);
    this.#stopProducer();
    this.#over.resolve();
  }

  /** Not awaited: a producer that is slow to stop must not hold the response. The signal has told it already. */
  #stopProducer(): void {
    this.#batches
      ?.return?.()
      .catch((error) =>
        this.#options.log.debug({ detail: errorText(error) }, 'event stream producer stopped badly'),
      );
  }

  readonly #onClose = (): void => this.#end('reader_left');

  readonly #onDrain = (): void => {
    this.#stalled?.cancel();
    this.#full = null;
    this.#lastWriteMs = this.#options.clock.monotonicMs();
    this.#isWaiting = false;
    this.#pull();
  };

  /** One timer for the life of the stream, not one per batch. A reader that is behind is not silent, it is full. */
  readonly #beat = (): void => {
    const { clock } = this.#options;
    const silentMs = clock.monotonicMs() - this.#lastWriteMs;
    if (silentMs >= HEARTBEAT_MS && this.#full === null) {
      this.#open(); // S3
      this.#lastWriteMs = clock.monotonicMs();
      this.#send(HEARTBEAT);
    }
    const nextMs = HEARTBEAT_MS - (clock.monotonicMs() - this.#lastWriteMs);
    this.#heartbeat = clock.startTimer(nextMs > 0 ? nextMs : HEARTBEAT_MS, this.#beat);
  };
}

/** The reader's last word when its producer broke: a declared fault is told, anything else is only logged. */
function failureFrame(error: unknown, failures: FailureDialect | undefined, log: Log): SseFrame {
  if (!(error instanceof Fault)) log.error({ detail: errorText(error) }, 'event stream failed');
  const sentence = error instanceof Fault ? error.message : 'Internal error';
  if (failures === undefined) return { event: 'error', data: JSON.stringify({ error: sentence }) };
  const told = error instanceof Fault ? failureOf(error) : { status: 500, sentence, code: null, details: {} };
  return { data: JSON.stringify(failures.bodyOf(told)) };
}
