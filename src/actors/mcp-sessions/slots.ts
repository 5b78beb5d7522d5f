// Slots: so many calls at once, so many more may wait, in order. Who finds both full is told at once.

import { Fifo } from '../../std/fifo.ts';
import { mcpSessionFaults } from './protocol.ts';

export class Slots {
  readonly #waitingMax: number;
  readonly #queue = new Fifo<() => void>();
  #taken = 0;
  #waiting = 0;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  get isIdle(): boolean {
    return this.#taken === 0 && this.#waiting === 0;
  }

  /** Resolves with what gives the slot back. @throws mcp_busy, or the reason of the signal */
  async take(slotsMax: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#taken >= slotsMax) await this.#turn(signal);
    else this.#taken += 1;
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      this.#pass();
    };
  }

  /** Resolves when a slot has been handed over. */
  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting >= this.#waitingMax) {
      throw mcpSessionFaults.mcp_busy(`${this.#waiting} calls wait for this server already`);
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#queue.remove(place);
        this.#waiting -= 1;
        reject(signal.reason);
      };
      const place = this.#queue.push(() => {
        signal.removeEventListener('abort', leave);
        resolve();
      });
      this.#waiting += 1;
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #pass(): void {
    const next = this.#queue.shift();
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting -= 1;
    next();
  }
}
