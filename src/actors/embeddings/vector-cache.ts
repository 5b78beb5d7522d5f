// VectorCache: the vectors that were made or asked for last, up to a number of bytes. A vector never gets old: it follows from
// its engine and its text.

export interface CachedVector {
  readonly vector: Float32Array;
  readonly tokens: number;
}

/** Of an entry beside its numbers: key, objects and the map's own. */
const ENTRY_BYTES = 300;

export class VectorCache {
  /** The one that was used last comes last. */
  readonly #entries = new Map<string, CachedVector>();
  #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#shrink();
  }

  get(key: string): CachedVector | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  put(key: string, entry: CachedVector): void {
    if (sizeOf(entry) > this.#bytesMax || this.#entries.has(key)) return;
    this.#entries.set(key, entry);
    this.#bytes += sizeOf(entry);
    this.#shrink();
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #shrink(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#entries.delete(key);
      this.#bytes -= sizeOf(entry);
    }
  }
}

function sizeOf({ vector }: CachedVector): number {
  return vector.byteLength + ENTRY_BYTES;
}
