// Reading: one connection that follows one run, from its start or by attaching, and checks what it reads as it comes.
// All connections of a process read into one buffer: thousands of them wait most of the time.

import { connect, type Socket } from 'node:net';
import { EventScanner } from './event-scanner.ts';
import { RunCheck } from './run-check.ts';

export interface ReadingOptions {
  readonly url: URL;
  /** What to start; or else which run to attach to. */
  readonly start?: object;
  readonly runId?: string;
  /** Leaves as soon as the run is accepted. */
  readonly leaves?: boolean;
  /** Hears of each event with tokens when it has been read: when its last token was sent, in microseconds of the machine. */
  readonly onTokens?: (sentUs: number) => void;
}

/** Milliseconds since the connection was asked for. */
export interface ReadingTimes {
  readonly acceptedMs: number;
  readonly firstByteMs: number;
  /** The first event that is stored. */
  readonly firstEventMs: number;
  readonly endedMs: number;
}

const BUFFER_BYTES = 256 * 1024;
const buffer = Buffer.allocUnsafe(BUFFER_BYTES);

export class Reading {
  readonly #check = new RunCheck();
  readonly #scanner = new EventScanner((seq, name, data) => this.#take(seq, name, data));
  readonly #startedMs = performance.now();
  readonly #options: ReadingOptions;
  readonly #socket: Socket;
  readonly #accepted = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #times = {
    acceptedMs: Number.NaN,
    firstByteMs: Number.NaN,
    firstEventMs: Number.NaN,
    endedMs: Number.NaN,
  };
  #runId: string;
  #flaw: string | null = null;

  constructor(options: ReadingOptions) {
    const { url, runId = '' } = options;
    this.#options = options;
    this.#runId = runId;
    this.#accepted.promise.catch(() => undefined);
    this.#socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: { buffer, callback: (length) => this.#feed(buffer.subarray(0, length)) },
    });
    this.#socket.on('error', (error) => {
      this.#flaw ??= error.message;
    });
    this.#socket.on('close', () => this.#end());
    this.#socket.write(requestOf(options));
  }

  get runId(): string {
    return this.#runId;
  }

  get times(): ReadingTimes {
    return this.#times;
  }

  get eventCount(): number {
    return this.#check.seq;
  }

  /** Resolves when the run has a name. @throws when it got none */
  get accepted(): Promise<void> {
    return this.#accepted.promise;
  }

  /** Resolves when nothing more comes. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Once ended: what was wrong, null if nothing. */
  verdict(): string | null {
    return this.#flaw ?? this.#check.verdict();
  }

  #feed(bytes: Buffer): boolean {
    if (Number.isNaN(this.#times.firstByteMs)) this.#times.firstByteMs = this.#sinceStartMs();
    const { received } = this.#check.tokens;
    try {
      this.#scanner.feed(bytes);
    } catch (error) {
      this.#flaw ??= (error as Error).message;
      this.#socket.destroy();
    }
    if (this.#check.tokens.received > received) this.#options.onTokens?.(this.#check.tokens.sentUs);
    if (this.#scanner.isOver) this.#socket.destroy();
    return true;
  }

  #take(seq: number | null, name: string, data: string): void {
    if (seq !== null) {
      if (Number.isNaN(this.#times.firstEventMs)) this.#times.firstEventMs = this.#sinceStartMs();
      this.#check.take(seq, name, data);
    } else if (name === 'run_started') {
      this.#times.acceptedMs = this.#sinceStartMs();
      this.#runId = (JSON.parse(data) as { run_id: string }).run_id;
      this.#accepted.resolve();
      if (this.#options.leaves) this.#socket.destroy();
    } else this.#flaw ??= `${name}: ${data}`;
  }

  #end(): void {
    this.#times.endedMs = this.#sinceStartMs();
    this.#accepted.reject(new Error(this.#flaw ?? 'the connection ended before the run was accepted'));
    this.#ended.resolve();
  }

  #sinceStartMs(): number {
    return performance.now() - this.#startedMs;
  }
}

function requestOf({ url, start, runId }: ReadingOptions): string {
  const common = `Host: ${url.host}\r\nConnection: close\r\n`;
  if (start === undefined)
    return `GET /api/agent/chat/stream/attach?run_id=${runId} HTTP/1.1\r\n${common}\r\n`;
  const body = JSON.stringify(start);
  return (
    `POST /api/agent/chat/stream HTTP/1.1\r\n${common}` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
