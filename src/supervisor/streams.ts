// Streams: the two ends of a pulled sequence. The consumer grants credit, the producer never runs ahead of it.
// X1 At most `credit` items are on their way or waiting at the consumer: a stopped reader costs that and no more.
// X2 Either end may end it: the producer by finishing or failing, the consumer by `return()` or its signal.
// X3 A producer's generator is closed (its `finally` runs) exactly once, whoever ended the stream.
// X4 A producer that never waits for anything still lets the event loop turn every ITEMS_PER_TURN items.

import type { Fault } from '../std/errors.ts';
import type { Owner, StreamAsker } from './envelope.ts';
import { kernelFaults } from './faults.ts';

/** Two items in flight hide the hand-over; more would only hold memory for a slow reader. */
export const STREAM_CREDIT = 2;

const ITEMS_PER_TURN = 64;

/** The consumer's end: an async iterator fed by the producer, here or on another thread. */
export class StreamInlet<Item> implements AsyncIterableIterator<Item>, StreamAsker {
  #items: Item[] = [];
  #waiting: { resolve: (result: IteratorResult<Item>) => void; reject: (fault: Fault) => void }[] = [];
  #ended: { readonly fault: Fault | null } | null = null;
  #granted: ((credit: number) => void) | null = null;
  #abandoned: (() => void) | null = null;
  #unlisten: (() => void) | null = null;
  #disown: (() => void) | null = null;

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  obey(signal: AbortSignal): void {
    const abandon = (): void => this.#cancel();
    if (signal.aborted) {
      abandon();
      return;
    }
    signal.addEventListener('abort', abandon, { once: true });
    this.#unlisten = () => signal.removeEventListener('abort', abandon);
  }

  /** Gives up when the owner ends, as a pending ask does. */
  belongTo(owner: Owner): void {
    if (!owner.isEnding && !this.isEnded) this.#disown = owner.whenEnding(() => this.#cancel());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Item>> {
    if (this.#items.length > 0) {
      const value = this.#items.shift() as Item;
      this.#granted?.(1);
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended !== null) {
      const { fault } = this.#ended;
      if (fault === null) return Promise.resolve({ done: true, value: undefined });
      this.#ended = { fault: null };
      return Promise.reject(fault);
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  return(): Promise<IteratorResult<Item>> {
    this.#abandon(null);
    return Promise.resolve({ done: true, value: undefined });
  }

  item(value: unknown): void {
    if (this.#ended !== null) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) {
      this.#items.push(value as Item);
      return;
    }
    waiting.resolve({ done: false, value: value as Item });
    this.#granted?.(1);
  }

  end(): void {
    this.#finish(null);
  }

  /** A stream's reply is its items; a bare reply ends it. */
  reply(): void {
    this.#finish(null);
  }

  fail(fault: Fault): void {
    this.#finish(fault);
  }

  onAbandoned(hook: () => void): void {
    if (this.#ended === null) this.#abandoned = hook;
    else hook();
  }

  onGranted(hook: (credit: number) => void): void {
    if (this.#ended !== null) return;
    this.#granted = hook;
    hook(STREAM_CREDIT);
  }

  #cancel(): void {
    this.#abandon(kernelFaults.ask_cancelled('the stream was cancelled'));
  }

  #abandon(fault: Fault | null): void {
    if (this.#ended !== null) return;
    const hook = this.#abandoned;
    this.#items = [];
    this.#finish(fault);
    hook?.();
  }

  #finish(fault: Fault | null): void {
    if (this.#ended !== null) return;
    this.#unlisten?.();
    this.#unlisten = null;
    this.#disown?.();
    this.#disown = null;
    this.#granted = null;
    this.#abandoned = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#ended = { fault };
    for (const [i, { resolve, reject }] of waiting.entries()) {
      if (fault !== null && i === 0) {
        this.#ended = { fault: null };
        reject(fault);
      } else resolve({ done: true, value: undefined });
    }
  }
}

/** The producer's end: pulls the handler's iterable as far as the credit goes. */
export class StreamOutlet {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #asker: StreamAsker;
  readonly #onClosed: (error: unknown) => void;
  readonly #turn: () => Promise<void>;
  #credit = 0;
  #pulled = 0;
  #isPulling = false;
  #isClosed = false;

  /** `onClosed` gets what the producer threw, or undefined; `turn` resolves after the event loop has had its turn. */
  constructor(
    items: AsyncIterable<unknown>,
    asker: StreamAsker,
    onClosed: (error: unknown) => void,
    turn: () => Promise<void>,
  ) {
    this.#iterator = items[Symbol.asyncIterator]();
    this.#asker = asker;
    this.#onClosed = onClosed;
    this.#turn = turn;
  }

  /** Begins to pull as soon as credit is granted. */
  open(): void {
    this.#asker.onAbandoned(() => this.close());
    this.#asker.onGranted((credit) => {
      this.#credit += credit;
      if (!this.#isPulling) void this.#pull();
    });
  }

  /** Stops producing and closes the generator (X3); the asker has been told already or does not care. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void closeIterator(this.#iterator);
    this.#onClosed(undefined);
  }

  fail(fault: Fault): void {
    if (this.#isClosed) return;
    this.#asker.fail(fault);
    this.close();
  }

  /** Never rejects: a failure goes to `onClosed`. */
  async #pull(): Promise<void> {
    this.#isPulling = true;
    while (this.#credit > 0 && !this.#isClosed) {
      this.#pulled += 1;
      if (this.#pulled % ITEMS_PER_TURN === 0) {
        await this.#turn();
        if (this.#isClosed) break;
      }
      let result: IteratorResult<unknown>;
      try {
        result = await this.#iterator.next();
      } catch (error) {
        if (!this.#isClosed) {
          this.#isClosed = true;
          this.#onClosed(error);
        }
        break;
      }
      if (this.#isClosed) break;
      if (result.done === true) {
        this.#isClosed = true;
        this.#asker.end();
        this.#onClosed(undefined);
        break;
      }
      this.#credit -= 1;
      this.#asker.item(result.value);
    }
    this.#isPulling = false;
  }
}

/**
 * A generator that is suspended at a yield is closed now, one that is awaiting when its await settles. What it throws then
 * reaches nobody: the stream has ended already, by the abort that it throws about more often than not.
 */
async function closeIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // As above.
  }
}
