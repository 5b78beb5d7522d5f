// Tap: a bounded buffer between what happens and one reader of it, who pulls batches.
// P1 At most `itemsMax` wait. A reader that is too slow loses the oldest, and is told how many.
// P2 What was there before a `close` is still read; after a `return` nothing is.

import type { Batch } from './contract.ts';

/** More than a screen shows, and little to hold for a reader that has stopped. */
export const TAP_ITEMS_MAX = 256;

type Result<Item> = IteratorResult<Batch<Item>, undefined>;

export class Tap<Item> implements AsyncIterableIterator<Batch<Item>, undefined> {
  readonly #onClosed: () => void;
  #items: Item[] = [];
  #missed = 0;
  #isWoken = false;
  #isClosed = false;
  #waiting: ((result: Result<Item>) => void)[] = [];

  /** `onClosed` is called once, whoever closes it. */
  constructor(onClosed: () => void = () => undefined) {
    this.#onClosed = onClosed;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(item: Item): void {
    if (this.#isClosed) return;
    if (this.#items.length >= TAP_ITEMS_MAX) {
      this.#items.shift();
      this.#missed += 1;
    }
    this.#items.push(item);
    this.#serve();
  }

  /** The same for what another tap gave. */
  pour({ items, missed }: Batch<Item>): void {
    this.#missed += missed;
    for (const item of items) this.push(item);
    this.#serve();
  }

  /** Lets the reader have a batch, an empty one if there is nothing. */
  wake(): void {
    this.#isWoken = true;
    this.#serve();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#serve();
    this.#onClosed();
  }

  next(): Promise<Result<Item>> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#serve();
    });
  }

  return(): Promise<Result<Item>> {
    this.#items = [];
    this.#missed = 0;
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  #serve(): void {
    if (this.#items.length > 0 || this.#missed > 0 || (this.#isWoken && !this.#isClosed)) {
      const reader = this.#waiting.shift();
      if (reader === undefined) return;
      const batch = { items: this.#items, missed: this.#missed };
      this.#items = [];
      this.#missed = 0;
      this.#isWoken = false;
      reader({ done: false, value: batch });
    }
    if (!this.#isClosed) return;
    for (const reader of this.#waiting.splice(0)) reader({ done: true, value: undefined });
  }
}
