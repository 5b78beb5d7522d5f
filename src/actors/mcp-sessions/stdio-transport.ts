// StdioTransport: the SDK's transport over a child process of ours; the SDK's own leaves process groups behind.
// T1 A message is a line. One above MESSAGE_BYTES_MAX ends the connection; one that is no message is reported, and ignored.
// T2 What is sent to a child that has ended already fails as NotSent: it certainly did not get there.

import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { lineCutter } from './lines.ts';
import type { ProcessExit, ServerProcess } from './server-process.ts';
import { isMembers } from './untrusted.ts';

/** A picture of some ten megabytes, in base64. */
export const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
/** What a server writes to its standard error is held as far as that, and passed on in part. */
const ERROR_LINE_BYTES_MAX = 8 * 1024;
const SHOWN_CHARS_MAX = 200;

/** It never left this process. */
export class NotSent extends Error {}

export interface StdioOptions {
  /** A line of the child's standard error. */
  readonly onErrorLine: (line: string) => void;
  /** Before the transport says that it has closed. */
  readonly onExit: (exit: ProcessExit) => void;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #start: () => ServerProcess;
  readonly #options: StdioOptions;
  #child: ServerProcess | null = null;
  #isClosed = false;

  constructor(start: () => ServerProcess, options: StdioOptions) {
    this.#start = start;
    this.#options = options;
  }

  start(): Promise<void> {
    const child = this.#start();
    this.#child = child;
    const onLine = (line: string): void => this.#receive(line);
    child.stdout.on(
      'data',
      lineCutter(MESSAGE_BYTES_MAX, onLine, () => {
        this.onerror?.(new Error(`a message above ${MESSAGE_BYTES_MAX} bytes`)); // T1
        void this.close();
      }),
    );
    const { onErrorLine, onExit } = this.#options;
    child.stderr.on('data', lineCutter(ERROR_LINE_BYTES_MAX, onErrorLine, onErrorLine));
    void child.exited.then(async (exit) => {
      onExit(exit);
      await child.end(); // It may have answered with its last breath.
      await this.close();
    });
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === null || child.hasExited || this.#isClosed || !child.stdin.writable) {
      return Promise.reject(new NotSent('the process has ended')); // T2
    }
    return new Promise((resolve, reject) => {
      child.stdin.write(serializeMessage(message), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  async close(): Promise<void> {
    const wasClosed = this.#isClosed;
    this.#isClosed = true;
    if (!wasClosed) this.onclose?.();
    await this.#child?.end();
  }

  #receive(line: string): void {
    if (this.#isClosed || line.trim() === '') return;
    try {
      const message: unknown = JSON.parse(line);
      // What kind of a message it is, and whether it is well-formed, is the client's to say.
      if (isMembers(message) && message['jsonrpc'] === '2.0') {
        this.onmessage?.(message as unknown as JSONRPCMessage);
        return;
      }
    } catch {
      // As what has another shape: T1.
    }
    this.onerror?.(new Error(`a line that is no message: ${line.slice(0, SHOWN_CHARS_MAX)}`));
  }
}
