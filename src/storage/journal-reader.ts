// JournalReader: one reader of a journal that is still being written, as its consumer has it: a sequence of batches. It is a
// cursor and, while its consumer waits, that consumer; when it is served is not its business (followed-journal.ts).
// C1 `return` and the signal end it at once, whatever it waits for.

import { assert } from '../std/assert.ts';
import type { Chain, Linked } from '../std/chain.ts';
import { nextOf, type Pulled, type Taker } from '../std/pulled.ts';

export interface Batch<Item> {
  readonly items: readonly Item[];
  readonly lastSeq: number;
}

/** Where a reader asks. */
export interface Desk<Item> {
  ask(reader: JournalReader<Item>): void;
  /** It has ended, and asks no more. */
  leave(reader: JournalReader<Item>): void;
}

type Items<Item> = readonly Item[];

export class JournalReader<Item>
  implements AsyncIterableIterator<Items<Item>, undefined>, Pulled<Items<Item>>, Linked<JournalReader<Item>>
{
  /** Its place at the desk. */
  chain: Chain<JournalReader<Item>> | null = null;
  before: JournalReader<Item> | null = null;
  behind: JournalReader<Item> | null = null;
  /** The number of the last entry that it was given. */
  cursor: number;
  readonly isOpen: () => boolean;
  readonly #desk: Desk<Item>;
  #taker: Taker<Items<Item>> | null = null;
  #hasEnded = false;
  #disobey: (() => void) | null = null;

  constructor(afterSeq: number, isOpen: () => boolean, desk: Desk<Item>) {
    this.cursor = afterSeq;
    this.isOpen = isOpen;
    this.#desk = desk;
  }

  obey(signal: AbortSignal): void {
    const end = (): void => this.end();
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    this.#disobey = () => signal.removeEventListener('abort', end);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  pull(taker: Taker<Items<Item>>): void {
    assert(this.#taker === null, 'a reader is asked for one batch at a time');
    if (this.#hasEnded) {
      taker.end();
      return;
    }
    this.#taker = taker;
    this.#desk.ask(this);
  }

  next(): Promise<IteratorResult<Items<Item>, undefined>> {
    return nextOf(this);
  }

  return(): Promise<IteratorResult<Items<Item>, undefined>> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  give({ items, lastSeq }: Batch<Item>): void {
    this.cursor = lastSeq;
    this.#answering()?.item(items);
  }

  fail(error: unknown): void {
    this.#answering()?.fail(error);
    this.end();
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#disobey?.();
    this.#desk.leave(this);
    this.#answering()?.end();
  }

  #answering(): Taker<Items<Item>> | null {
    const taker = this.#taker;
    this.#taker = null;
    return taker;
  }
}
