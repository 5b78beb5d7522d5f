// Streams: the two ends of a pulled sequence. The consumer grants credit, the producer never runs ahead of it.
// X1 At most `credit` items are on their way or waiting at the consumer: a stopped reader costs that and no more.
// X2 Either end may end it: the producer by finishing or failing, the consumer by `return()` or its signal.
// X3 A producer's generator is closed (its `finally` runs) exactly once, whoever ended the stream.
// X4 A producer that never waits for anything still lets the event loop turn every ITEMS_PER_TURN items.
// Either end may be used without a promise for each item (see std/pulled.ts): where thousands of streams wait on one thread,
// the promises are most of what they cost.

import type { Fault } from '../std/errors.ts';
import { nextOf, type Pulled, pulledFrom, type Taker } from '../std/pulled.ts';
import type { Owner, StreamAsker } from './envelope.ts';
import { kernelFaults } from './faults.ts';

/** Two items in flight hide the hand-over; more would only hold memory for a slow reader. */
export const STREAM_CREDIT = 2;

const ITEMS_PER_TURN = 64;

/** The consumer's end: an async iterator fed by the producer, here or on another thread. */
export class StreamInlet<Item> implements AsyncIterableIterator<Item>, Pulled<Item>, StreamAsker {
  #items: Item[] = [];
  /** Whoever has waited longest, and those behind him: hardly ever is there a second one, and a list makes a store for each item. */
  #waiting: Taker<Item> | null = null;
  #behind: Taker<Item>[] = [];
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
    return nextOf(this);
  }

  pull(taker: Taker<Item>): void {
    if (this.#items.length > 0) {
      const value = this.#items.shift() as Item;
      this.#granted?.(1);
      taker.item(value);
      return;
    }
    if (this.#ended === null) {
      if (this.#waiting === null) this.#waiting = taker;
      else this.#behind.push(taker);
      return;
    }
    const { fault } = this.#ended;
    this.#ended = { fault: null };
    if (fault === null) taker.end();
    else taker.fail(fault);
  }

  return(): Promise<IteratorResult<Item>> {
    this.#abandon(null);
    return Promise.resolve({ done: true, value: undefined });
  }

  item(value: unknown): void {
    if (this.#ended !== null) return;
    const waiting = this.#waiting;
    if (waiting === null) {
      this.#items.push(value as Item);
      return;
    }
    this.#waiting = this.#behind.length === 0 ? null : (this.#behind.shift() as Taker<Item>);
    waiting.item(value as Item);
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
    const behind = this.#behind;
    this.#waiting = null;
    this.#behind = [];
    this.#ended = { fault };
    if (waiting === null) return;
    if (fault === null) waiting.end();
    else {
      this.#ended = { fault: null };
      waiting.fail(fault);
    }
    for (const taker of behind) taker.end();
  }
}

/** The producer's end: pulls the handler's iterable as far as the credit goes. */
export class StreamOutlet implements Taker<unknown> {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #items: Pulled<unknown>;
  readonly #asker: StreamAsker;
  readonly #onClosed: (error: unknown) => void;
  readonly #turn: () => Promise<void>;
  #credit = 0;
  #pulled = 0;
  /** Waits for an item, or for a turn of the event loop. */
  #isWaiting = false;
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
    this.#items = pulledFrom(this.#iterator);
    this.#asker = asker;
    this.#onClosed = onClosed;
    this.#turn = turn;
  }

  /** Begins to pull as soon as credit is granted. */
  open(): void {
    this.#asker.onAbandoned(() => this.close());
    this.#asker.onGranted((credit) => {
      this.#credit += credit;
      this.#pull();
    });
  }

  /** Stops producing and closes the generator (X3); the asker has been told already or does not care. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void closeIterator(this.#iterator);
    this.#onClosed(undefined);
  }

  fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed(error);
  }

  /** Its actor ends. */
  breakOff(fault: Fault): void {
    if (this.#isClosed) return;
    this.#asker.fail(fault);
    this.close();
  }

  item(value: unknown): void {
    if (this.#isClosed) return;
    this.#isWaiting = false;
    this.#credit -= 1;
    this.#asker.item(value);
    this.#pull();
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#asker.end();
    this.#onClosed(undefined);
  }

  /** A loop, as an item may come at once: what it sets going comes back here and finds that it is being done. */
  #pull(): void {
    if (this.#isPulling) return;
    this.#isPulling = true;
    while (this.#credit > 0 && !this.#isWaiting && !this.#isClosed) {
      this.#isWaiting = true;
      this.#pulled += 1;
      if (this.#pulled % ITEMS_PER_TURN === 0) void this.#turn().then(() => this.#take());
      else this.#items.pull(this);
    }
    this.#isPulling = false;
  }

  #take(): void {
    if (!this.#isClosed) this.#items.pull(this);
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
