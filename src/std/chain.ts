// Chain: a queue of things that carry their own links, so that joining and leaving make nothing. For what joins and leaves with
// every event of thousands of streams; where that is not so, a Set or a Fifo is plainer.
//
// What the profile said: a Set with one member makes a new table each time that one leaves. A table that is dead points at the one
// after it, and V8's young collections take the dead of the old generation for alive: each table kept the next, and all that stood in
// them. With 5,000 readers that was most of what the edge thread had to collect as old.
// H1 What has left points at nothing, for the same reason.

/** Nobody but the chain changes these; all null: in no chain. */
export interface Linked<Self extends Linked<Self>> {
  chain: Chain<Self> | null;
  before: Self | null;
  behind: Self | null;
}

export class Chain<Item extends Linked<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;

  get first(): Item | null {
    return this.#first;
  }

  has(item: Item): boolean {
    return item.chain === this;
  }

  /** It is in no chain yet. */
  push(item: Item): void {
    item.chain = this;
    item.before = this.#last;
    if (this.#last === null) this.#first = item;
    else this.#last.behind = item;
    this.#last = item;
  }

  shift(): Item | null {
    const first = this.#first;
    if (first !== null) this.remove(first);
    return first;
  }

  /** It is in this chain. */
  remove(item: Item): void {
    const { before, behind } = item;
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind === null) this.#last = before;
    else behind.before = before;
    item.chain = null;
    item.before = null;
    item.behind = null;
  }
}
