// Fifo: a queue from whose middle things can be taken, too. Every step takes the same time, however long it is.

/** A place in a queue: what `remove` wants back. */
export interface FifoPlace<Item> {
  readonly item: Item;
  before: FifoPlace<Item> | null;
  behind: FifoPlace<Item> | null;
}

export class Fifo<Item> {
  #first: FifoPlace<Item> | null = null;
  #last: FifoPlace<Item> | null = null;

  get first(): Item | undefined {
    return this.#first?.item;
  }

  get last(): Item | undefined {
    return this.#last?.item;
  }

  get isEmpty(): boolean {
    return this.#first === null;
  }

  push(item: Item): FifoPlace<Item> {
    const place: FifoPlace<Item> = { item, before: this.#last, behind: null };
    if (this.#last === null) this.#first = place;
    else this.#last.behind = place;
    this.#last = place;
    return place;
  }

  /** Puts an item before all others. */
  unshift(item: Item): FifoPlace<Item> {
    const place: FifoPlace<Item> = { item, before: null, behind: this.#first };
    if (this.#first === null) this.#last = place;
    else this.#first.before = place;
    this.#first = place;
    return place;
  }

  shift(): Item | undefined {
    if (this.#first === null) return undefined;
    const { item } = this.#first;
    this.remove(this.#first);
    return item;
  }

  /** The place is one of this queue, and was not removed before. It points at nothing then, as in a Chain (H1). */
  remove(place: FifoPlace<Item>): void {
    const { before, behind } = place;
    place.before = null;
    place.behind = null;
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind === null) this.#last = before;
    else behind.before = before;
  }
}
