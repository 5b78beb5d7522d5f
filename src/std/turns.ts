// Turns: what is done with one thing is done in turn, and with another beside it.
// T1 A piece of work begins when the one before it has ended, whatever became of that, and in the order in which they were asked for.
// T2 Nothing is kept of a thing with which nothing is being done.

export class Turns {
  /** By key, the end of the last turn that was asked for. */
  readonly #last = new Map<string, Promise<void>>();

  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(key, over);
    try {
      await before;
      return await work();
    } finally {
      end();
      if (this.#last.get(key) === over) this.#last.delete(key);
    }
  }
}
