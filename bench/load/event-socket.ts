// EventSocket: one reader of a run's event stream at the price of a plain socket, because thousands of them share a processor
// with the service that they read from. It checks the sequence numbers and looks at nothing else of an event.
// E1 A line that begins with `id: ` is the number of an event: payloads begin with `data: ` and have no line breaks. HTTP's
//    chunks begin and end between frames, so their lines need no understanding.
// E2 All sockets read into one buffer: what is in it is looked at before the next socket reads.

import { connect, type Socket } from 'node:net';

export interface EventSocketOptions {
  readonly port: number;
  readonly runId: string;
  /** Asks, and then reads nothing until `resume`. */
  readonly isStopped?: boolean;
  readonly onEvent?: (seq: number) => void;
  /** The service ended the stream, or the connection broke. */
  readonly onEnd: () => void;
}

const READ_BUFFER = Buffer.allocUnsafe(1024 * 1024);
const NEWLINE = 10;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
const ID = Buffer.from('id: ');
/** Instead of a place in ID. */
const IN_NUMBER = -1;
const IN_LINE = -2;

export class EventSocket {
  /** Of the last event that was read; they run from 1. */
  seq = 0;
  /** The first thing that was wrong. */
  flaw: string | null = null;
  readonly askedAtMs = performance.now();
  firstByteMs = Number.NaN;
  endMs = Number.NaN;
  readonly #socket: Socket;
  readonly #onEvent: ((seq: number) => void) | undefined;
  /** How much of ID the line has shown so far, IN_NUMBER or IN_LINE. */
  #at = 0;
  #number = 0;

  constructor({ port, runId, isStopped = false, onEvent, onEnd }: EventSocketOptions) {
    this.#onEvent = onEvent;
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => {
          if (Number.isNaN(this.firstByteMs)) this.firstByteMs = performance.now() - this.askedAtMs;
          this.#read(buffer, length);
          return true;
        },
      },
    });
    if (isStopped) this.#socket.pause();
    this.#socket.write(
      `GET /api/agent/chat/stream/attach?run_id=${runId} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    this.#socket.on('error', (error) => {
      this.flaw ??= error.message;
    });
    this.#socket.on('close', () => {
      this.endMs = performance.now() - this.askedAtMs;
      onEnd();
    });
  }

  resume(): void {
    this.#socket.resume();
  }

  leave(): void {
    this.#socket.destroy();
  }

  #read(bytes: Uint8Array, length: number): void {
    for (let i = 0; i < length; i += 1) {
      const byte = bytes[i] as number;
      if (byte === NEWLINE) {
        if (this.#at === IN_NUMBER) this.#take(this.#number);
        this.#at = 0;
      } else if (this.#at >= 0) {
        if (byte !== ID[this.#at]) this.#at = IN_LINE;
        else if (this.#at < ID.length - 1) this.#at += 1;
        else {
          this.#at = IN_NUMBER;
          this.#number = 0;
        }
      } else if (this.#at === IN_NUMBER) {
        if (byte < DIGIT_0 || byte > DIGIT_9) this.flaw ??= 'an event has a number that is none';
        this.#number = this.#number * 10 + byte - DIGIT_0;
      }
    }
  }

  #take(seq: number): void {
    if (seq !== this.seq + 1) this.flaw ??= `event ${seq} came after ${this.seq}`;
    this.seq = seq;
    this.#onEvent?.(seq);
  }
}
