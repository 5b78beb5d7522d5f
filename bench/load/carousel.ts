// Carousel: gives each of thousands of streams its turn so many times a second, in rounds, whoever comes or goes meanwhile.
// One timer turns them all: a timer for each would be most of the work.

export class Carousel<Rider> {
  readonly #visit: (rider: Rider) => boolean;
  readonly #riders: Rider[] = [];
  #perSecond: number;
  #next = 0;
  #due = 0;

  /** `visit` answers whether the rider stays on. */
  constructor(perSecond: number, visit: (rider: Rider) => boolean) {
    this.#perSecond = perSecond;
    this.#visit = visit;
  }

  get length(): number {
    return this.#riders.length;
  }

  set perSecond(perSecond: number) {
    this.#perSecond = perSecond;
  }

  add(rider: Rider): void {
    this.#riders.push(rider);
  }

  /** What was missed because the thread was late is made up for, but for a round at most. */
  turn(elapsedMs: number): void {
    const due = this.#due + (this.#riders.length * this.#perSecond * elapsedMs) / 1000;
    this.#due = Math.min(due, this.#riders.length);
    for (; this.#due >= 1 && this.#riders.length > 0; this.#due -= 1) this.#visitNext();
  }

  #visitNext(): void {
    if (this.#next >= this.#riders.length) this.#next = 0;
    if (this.#visit(this.#riders[this.#next] as Rider)) {
      this.#next += 1;
      return;
    }
    const last = this.#riders.pop() as Rider;
    if (this.#next < this.#riders.length) this.#riders[this.#next] = last;
  }
}
