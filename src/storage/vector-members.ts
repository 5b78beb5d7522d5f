// VectorMembers: which vectors an index knows, by slot: the number of each, what it is filtered by, and where it is besides on disk.
// M1 A slot belongs to one vector at a time, and is used again when that is gone.
// M2 To filter is one pass over all slots: a tenth of a millisecond for 100,000, and then the exact number of those that pass is
//    known, by which the way to search is chosen.

import type { PassageFilter } from './contract.ts';
import type { NumberedLabels } from './vectors.ts';

export interface Passing {
  /** By slot, 1 for those that pass. */
  readonly slots: Uint8Array;
  readonly count: number;
}

const CAPACITY_MIN = 1_024;
/** Numbers of vectors begin with 1. */
const FREE = 0;

export class VectorMembers {
  readonly #slots = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #owners = new Names();
  readonly #tagSets = new Names();
  readonly #tagsOf: (readonly string[])[] = [];
  #numbers = new Uint32Array(CAPACITY_MIN);
  #ownerOf = new Uint32Array(CAPACITY_MIN);
  #tagSetOf = new Uint32Array(CAPACITY_MIN);
  #isInMemory = new Uint8Array(CAPACITY_MIN);
  #isInGraph = new Uint8Array(CAPACITY_MIN);
  /** Slots from here on were never used. */
  #end = 0;
  #inMemory = 0;
  #inGraph = 0;

  get count(): number {
    return this.#slots.size;
  }

  get inGraph(): number {
    return this.#inGraph;
  }

  get inMemory(): number {
    return this.#inMemory;
  }

  /** Above all slots. */
  get end(): number {
    return this.#end;
  }

  numbers(): Iterable<number> {
    return this.#slots.keys();
  }

  slotOf(number: number): number | undefined {
    return this.#slots.get(number);
  }

  numberAt(slot: number): number {
    return this.#numbers[slot] as number;
  }

  isFree(slot: number): boolean {
    return this.#numbers[slot] === FREE;
  }

  isInMemory(slot: number): boolean {
    return this.#isInMemory[slot] === 1;
  }

  isInGraph(slot: number): boolean {
    return this.#isInGraph[slot] === 1;
  }

  /** On disk only, at first. One that is known already stays where it is. */
  add({ number, owner, tags }: NumberedLabels): void {
    if (this.#slots.has(number)) return;
    const slot = this.#free.pop() ?? this.#newSlot();
    this.#slots.set(number, slot);
    this.#numbers[slot] = number;
    this.#ownerOf[slot] = this.#owners.of(owner);
    const tagSet = this.#tagSets.of(JSON.stringify(tags));
    this.#tagsOf[tagSet] ??= tags;
    this.#tagSetOf[slot] = tagSet;
  }

  /** Of one that is known. */
  remove(number: number): void {
    const slot = this.#slots.get(number);
    if (slot === undefined) return;
    this.#slots.delete(number);
    this.#free.push(slot);
    this.#numbers[slot] = FREE;
    this.#inMemory -= this.#isInMemory[slot] as number;
    this.#inGraph -= this.#isInGraph[slot] as number;
    this.#isInMemory[slot] = 0;
    this.#isInGraph[slot] = 0;
  }

  /** It is not there yet. */
  enterMemory(slot: number): void {
    this.#isInMemory[slot] = 1;
    this.#inMemory += 1;
  }

  /** It is not there yet. */
  enterGraph(slot: number): void {
    this.#isInGraph[slot] = 1;
    this.#inGraph += 1;
  }

  /** All of them. */
  leaveGraph(): void {
    this.#isInGraph.fill(0);
    this.#inGraph = 0;
  }

  /** Null when all do. */
  passing({ owners, tags }: PassageFilter): Passing | null {
    if (owners === undefined && tags === undefined) return null;
    const owned = owners && this.#owners.marked(owners);
    const tagged = tags && this.#tagsOf.map((set) => set.some((tag) => tags.includes(tag)));
    const slots = new Uint8Array(this.#end);
    let count = 0;
    for (let slot = 0; slot < this.#end; slot += 1) {
      if (this.#numbers[slot] === FREE) continue;
      if (owned !== undefined && owned[this.#ownerOf[slot] as number] !== 1) continue;
      if (tagged !== undefined && !tagged[this.#tagSetOf[slot] as number]) continue;
      slots[slot] = 1;
      count += 1;
    }
    return count === this.count ? null : { slots, count };
  }

  #newSlot(): number {
    if (this.#end === this.#numbers.length) this.#grow();
    this.#end += 1;
    return this.#end - 1;
  }

  #grow(): void {
    const capacity = this.#numbers.length * 2;
    this.#numbers = grown(this.#numbers, new Uint32Array(capacity));
    this.#ownerOf = grown(this.#ownerOf, new Uint32Array(capacity));
    this.#tagSetOf = grown(this.#tagSetOf, new Uint32Array(capacity));
    this.#isInMemory = grown(this.#isInMemory, new Uint8Array(capacity));
    this.#isInGraph = grown(this.#isInGraph, new Uint8Array(capacity));
  }
}

/** Short numbers for texts that many vectors share. */
class Names {
  readonly #numbers = new Map<string, number>();

  of(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  /** By number, 1 for those that are among the names. */
  marked(names: readonly string[]): Uint8Array {
    const marks = new Uint8Array(this.#numbers.size);
    for (const name of names) {
      const number = this.#numbers.get(name);
      if (number !== undefined) marks[number] = 1;
    }
    return marks;
  }
}

function grown<Numbers extends Uint32Array | Uint8Array>(before: Numbers, after: Numbers): Numbers {
  after.set(before);
  return after;
}
