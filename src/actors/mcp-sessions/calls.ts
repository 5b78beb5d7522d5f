// Calls: requests of an asker, made over whichever connection the session has.
// K1 At most `mcp.calls_max` at once; CALLS_WAITING_MAX may wait. Progress resets the timeout of a call, up to a total.
// K2 A request that the server has certainly not executed (see failures.ts) is made once more, on a new connection.
// K3 Progress is merged: who reads slowly gets the newest report.

import type { Progress, RequestOptions } from '@modelcontextprotocol/client';
import type { Settings } from '../config/protocol.ts';
import type { Connection } from './connection.ts';
import { isSignInRequired, neverConnected, requestFault, wasNotExecuted } from './failures.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Mask } from './masking.ts';
import type { McpProgress } from './protocol.ts';
import { Slots } from './slots.ts';
import { NotSent } from './stdio-transport.ts';
import { ANYTHING, type Members } from './untrusted.ts';

const CALLS_WAITING_MAX = 200;
const MESSAGE_CHARS_MAX = 1_000;
const SECOND_MS = 1_000;

export interface RequestOrder {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get';
  readonly params: Record<string, unknown>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: McpProgress) => void;
}

export class Calls {
  readonly #slots = new Slots(CALLS_WAITING_MAX);
  readonly #lifecycle: Lifecycle<Connection>;
  readonly #server: string;
  readonly #mask: () => Mask;
  #made = 0;

  constructor(lifecycle: Lifecycle<Connection>, server: string, mask: () => Mask) {
    this.#lifecycle = lifecycle;
    this.#server = server;
    this.#mask = mask;
  }

  get isIdle(): boolean {
    return this.#slots.isIdle;
  }

  /** Counts the calls that were made: the same number twice means that there were none in between. */
  get made(): number {
    return this.#made;
  }

  /** @throws Fault, or the reason of the signal */
  async make(order: RequestOrder, settings: Settings): Promise<Members> {
    const { signal } = order;
    this.#made += 1;
    const release = await this.#slots.take(settings['mcp.calls_max'], signal); // K1
    try {
      return await this.#make(order, settings);
    } catch (error) {
      signal.throwIfAborted();
      throw requestFault(error, this.#server, this.#mask());
    } finally {
      release();
    }
  }

  async #make(order: RequestOrder, settings: Settings): Promise<Members> {
    const { method, params } = order;
    const options = optionsOf(order, settings);
    for (let isAgain = false; ; isAgain = true) {
      const connection = await orAborted(this.#lifecycle.usable(), order.signal);
      try {
        if (connection.hasEnded) throw new NotSent('the connection has ended');
        return await connection.client.request({ method, params }, ANYTHING, options);
      } catch (error) {
        order.signal.throwIfAborted();
        if (isSignInRequired(error)) this.#lifecycle.replace(connection, 'it asks for a sign-in');
        if (!wasNotExecuted(error)) throw error;
        this.#lifecycle.replace(connection, howItEnded(connection, error));
        if (isAgain) throw error; // K2
      }
    }
  }
}

function howItEnded({ hasEnded }: Connection, error: unknown): string {
  if (hasEnded || error instanceof NotSent) return 'it has ended';
  return neverConnected(error) ? 'it cannot be reached' : 'it does not know the session any more';
}

function optionsOf({ timeoutMs, signal, onProgress }: RequestOrder, settings: Settings): RequestOptions {
  const totalMs = settings['mcp.call_total_seconds'] * SECOND_MS;
  return {
    signal,
    timeout: Math.min(timeoutMs, totalMs),
    maxTotalTimeout: totalMs,
    resetTimeoutOnProgress: true,
    ...(onProgress === undefined ? {} : { onprogress: (report) => onProgress(progressOf(report)) }),
  };
}

function progressOf({ progress, total, message }: Progress): McpProgress {
  return { progress, total: total ?? null, message: message?.slice(0, MESSAGE_CHARS_MAX) ?? null };
}

function orAborted<T>(awaited: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    void awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** K3. Yields reports until the work has settled, then returns what it gave. */
export async function* withProgress<Report, Result>(
  work: (report: (one: Report) => void) => Promise<Result>,
): AsyncGenerator<Report, Result, undefined> {
  let newest: Report | null = null;
  let wake: (() => void) | null = null;
  let isSettled = false;
  const stir = (): void => {
    wake?.();
    wake = null;
  };
  const result = work((one) => {
    newest = one;
    stir();
  }).finally(() => {
    isSettled = true;
    stir();
  });
  result.catch(() => undefined); // Whoever leaves in between has no ear for it.
  while (!isSettled) {
    if (newest === null) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      continue;
    }
    const report: Report = newest;
    newest = null;
    yield report;
  }
  return await result;
}
