// VectorRoom: how much memory the vectors of one thread's indexes may take: in graphs, and on their own. What finds no room
// stays on disk, and is compared there: slower, and no less right.

export class VectorRoom {
  readonly bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False, and nothing taken, when there is not as much. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}
