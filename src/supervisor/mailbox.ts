// Mailbox: the bounded FIFO of one actor, and its policy when it is full.
// M1 A full box answers: it rejects the newcomer or gives up its oldest, counted either way, never in silence.
// M2 Push and shift are O(1). The ring starts small (an idle actor is cheap) and doubles up to the bound.

export interface MailboxPolicy {
  readonly lengthMax: number;
  /** `reject` fails the newcomer; `drop_oldest` dead-letters the head. */
  readonly whenFull: 'reject' | 'drop_oldest';
}

/** Enough for any burst that an actor can work off within a second; beyond it the sender should know. */
export const MAILBOX_DEFAULT: MailboxPolicy = { lengthMax: 65_536, whenFull: 'reject' };

const LENGTH_FIRST = 4;

export class Mailbox<Item> {
  readonly policy: MailboxPolicy;
  #ring: (Item | undefined)[] | null = null;
  #head = 0;
  #length = 0;

  constructor(policy: MailboxPolicy) {
    this.policy = policy;
  }

  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return this.#length >= this.policy.lengthMax;
  }

  /** The caller has made sure that the box is not full. */
  push(item: Item): void {
    if (this.#ring === null) this.#ring = new Array(LENGTH_FIRST);
    else if (this.#length === this.#ring.length) this.#grow(this.#ring);
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = item;
    this.#length += 1;
  }

  /** Puts an item back at the head. It may take the box past its bound: what comes back has been let in before. */
  unshift(item: Item): void {
    if (this.#ring === null) this.#ring = new Array(LENGTH_FIRST);
    else if (this.#length === this.#ring.length) this.#grow(this.#ring);
    this.#head = (this.#head - 1) & (this.#ring.length - 1);
    this.#ring[this.#head] = item;
    this.#length += 1;
  }

  /** Takes the newest, from the tail. */
  pop(): Item | undefined {
    if (this.#length === 0 || this.#ring === null) return undefined;
    this.#length -= 1;
    const slot = (this.#head + this.#length) & (this.#ring.length - 1);
    const item = this.#ring[slot];
    this.#ring[slot] = undefined;
    return item;
  }

  shift(): Item | undefined {
    if (this.#length === 0 || this.#ring === null) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length -= 1;
    return item;
  }

  /** Empties the box; what was in it comes out in order. */
  *drain(): Generator<Item> {
    for (let item = this.shift(); item !== undefined; item = this.shift()) yield item;
  }

  #grow(full: (Item | undefined)[]): void {
    const ring = new Array<Item | undefined>(full.length * 2);
    for (let i = 0; i < this.#length; i += 1) ring[i] = full[(this.#head + i) & (full.length - 1)];
    this.#ring = ring;
    this.#head = 0;
  }
}
