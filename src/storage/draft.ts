// Draft: the changes of one commit before it is made: an overlay on what is committed, seen by those who make it.
// D1 Whoever reads through a draft sees its changes on top of one state of the committed data.
// D2 A draft notes the version of every collection it touched; it is committed only if none of them has moved.
// D3 `undo` takes back what came since the last `settle`, so that one change of several can fail alone.
// D4 Changes to a journal as a whole are decided on what is committed, so a draft holds one change of a journal at most.
// D5 What a change gathers joins what those before it have gathered when the change ends (`settle`), and is written once for all of
//    them, behind the last (`close`). A change that fails leaves nothing of it.

import { decodeValue, encodeValue } from './codec.ts';
import type { ByteRange, Change, Commit, Environment, Pair, ScanOptions } from './environment.ts';
import type { LogItem } from './journal-page.ts';
import { encodeKey } from './key.ts';

/** Figures about a collection, kept exactly: `{ count: 3 }`. */
export type Totals = Readonly<Record<string, number>>;

/** Byte keys and values of collections, as they are committed or as a draft would have them. */
export interface View {
  /** The bytes are lent until the next read. */
  get(collection: string, key: Buffer): Buffer | undefined;
  scan(collection: string, range: ByteRange, options?: ScanOptions): Iterable<Pair>;
  totals(collection: string): Totals;
}

export function committedView(environment: Environment): View {
  return {
    get(_collection, key) {
      environment.refresh();
      return environment.read('rows', key);
    },
    scan: (_collection, range, options) => environment.scan('rows', range, { ...options, fresh: true }),
    totals(collection) {
      environment.refresh();
      return readTotals(environment.stamp(collection).note);
    },
  };
}

/** D5. */
export interface Gathering {
  /** Roughly what it will write, in records. */
  readonly size: number;
  /** Takes over what a later change has gathered under the same name. */
  join(later: this): void;
  writeInto(draft: Draft): void;
}

interface Pending {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
}

/** What removes a journal from the log, or moves it into spans. */
interface JournalChange {
  readonly changes: readonly Change[];
  readonly items: readonly LogItem[];
  /** That it lets room be given back later, when nothing refers to the pages of the log any more. */
  readonly makesRoom: boolean;
}

/** Its version counts the changes to journals as a whole. */
const JOURNALS = 'journals';

interface Touched {
  readonly version: number | undefined;
  totals: Totals;
  changed: boolean;
}

export class Draft implements View {
  readonly #environment: Environment;
  /** By the key's bytes as Latin-1 text, whose order is theirs. */
  readonly #pending = new Map<string, Pending>();
  readonly #touched = new Map<string, Touched>();
  readonly #journals = new Map<string, JournalChange>();
  /** Of the present change. */
  #undo: (() => void)[] = [];
  /** By what it is for: of the present change, and of those before it. */
  readonly #gathering = new Map<string, Gathering>();
  readonly #gathered = new Map<string, Gathering>();
  #isEmpty = true;
  #sortedNames: string[] | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
    environment.refresh();
  }

  get(collection: string, key: Buffer): Buffer | undefined {
    this.#touch(collection);
    const pending = this.#pending.get(nameOf(key));
    return pending === undefined ? this.#environment.read('rows', key) : pending.value;
  }

  *scan(collection: string, range: ByteRange, options: ScanOptions = {}): Iterable<Pair> {
    this.#touch(collection);
    const { reverse = false } = options;
    const names = this.#namesIn(range);
    if (reverse) names.reverse();
    let next = 0;
    for (const pair of this.#environment.scan('rows', range, { ...options, fresh: false })) {
      const name = nameOf(pair.key);
      for (; next < names.length && isBefore(names[next], name, reverse); next += 1) {
        yield* this.#pendingPair(names[next]);
      }
      if (names[next] === name) next += 1;
      if (this.#pending.has(name)) yield* this.#pendingPair(name);
      else yield pair;
    }
    for (; next < names.length; next += 1) yield* this.#pendingPair(names[next]);
  }

  totals(collection: string): Totals {
    return this.#touch(collection).totals;
  }

  put(collection: string, key: Buffer, value: Buffer): void {
    this.#change(collection, { key, value });
  }

  remove(collection: string, key: Buffer): void {
    this.#change(collection, { key, value: undefined });
  }

  /** D5. What the present change has gathered for `name`; opened when there is nothing yet. */
  gathering<Gathered extends Gathering>(name: string, open: () => Gathered): Gathered {
    const gathering = (this.#gathering.get(name) as Gathered | undefined) ?? open();
    this.#gathering.set(name, gathering);
    return gathering;
  }

  /** Of all that is gathered, roughly in records. */
  get gatheredSize(): number {
    let size = 0;
    for (const gathered of this.#gathered.values()) size += gathered.size;
    return size;
  }

  /** D5. The end of a change, which is not undone any more. */
  settle(): void {
    for (const [name, gathering] of this.#gathering) {
      const gathered = this.#gathered.get(name);
      if (gathered === undefined) this.#gathered.set(name, gathering);
      else gathered.join(gathering);
    }
    this.#gathering.clear();
    if (this.#undo.length > 0) this.#isEmpty = false;
    this.#undo = [];
  }

  /** D5. Behind the last change. */
  close(): void {
    for (const gathered of this.#gathered.values()) gathered.writeInto(this);
    this.#gathered.clear();
    this.settle();
  }

  /** D4. False when the draft changes that journal already: try with the next one. `decide` answers null for no change. */
  changeJournal(name: string, journal: string, decide: () => JournalChange | null): boolean {
    const touched = this.#touch(JOURNALS);
    const id = encodeKey([name, journal]).toString('latin1');
    if (this.#journals.has(id)) return false;
    const change = decide();
    if (change === null) return true;
    const { changed } = touched;
    touched.changed = true;
    this.#journals.set(id, change);
    this.#undo.push(() => {
      touched.changed = changed;
      this.#journals.delete(id);
    });
    return true;
  }

  /** For the log, when the draft is committed. */
  logItems(): LogItem[] {
    return Array.from(this.#journals.values(), ({ items }) => items).flat();
  }

  addToTotals(collection: string, differences: Totals): void {
    const touched = this.#touch(collection);
    const { totals: before, changed } = touched;
    const after: Record<string, number> = { ...before };
    for (const [name, difference] of Object.entries(differences)) {
      after[name] = (after[name] ?? 0) + difference;
    }
    touched.totals = after;
    touched.changed = true;
    this.#undo.push(() => {
      touched.totals = before;
      touched.changed = changed;
    });
  }

  /** D3. */
  undo(): void {
    this.#gathering.clear();
    while (this.#undo.length > 0) this.#undo.pop()?.();
  }

  isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** `log`: what its own `logItems` have become. */
  toCommit(unconditional: readonly Change[], log: readonly Change[]): Commit {
    const conditions = new Map<string, number | undefined>();
    const notes = new Map<string, Buffer>();
    if (this.isEmpty()) return { unconditional, conditions, conditional: [], notes, makesRoom: false };
    for (const [collection, { version, totals, changed }] of this.#touched) {
      conditions.set(collection, version);
      if (changed) notes.set(collection, encodeValue(totals));
    }
    const rows = Array.from(this.#pending.values(), (pending) => ({ space: 'rows' as const, ...pending }));
    const journals = Array.from(this.#journals.values(), ({ changes }) => changes).flat();
    const conditional = [...rows, ...journals, ...log];
    const makesRoom = Array.from(this.#journals.values()).some((change) => change.makesRoom);
    return { unconditional, conditions, conditional, notes, makesRoom };
  }

  #touch(collection: string): Touched {
    let touched = this.#touched.get(collection);
    if (touched === undefined) {
      const { version, note } = this.#environment.stamp(collection);
      touched = { version, totals: readTotals(note), changed: false };
      this.#touched.set(collection, touched);
    }
    return touched;
  }

  #change(collection: string, pending: Pending): void {
    const touched = this.#touch(collection);
    const { changed } = touched;
    const name = nameOf(pending.key);
    const before = this.#pending.get(name);
    if (before === undefined) this.#sortedNames = undefined;
    this.#pending.set(name, pending);
    touched.changed = true;
    this.#undo.push(() => {
      touched.changed = changed;
      if (before !== undefined) this.#pending.set(name, before);
      else {
        this.#pending.delete(name);
        this.#sortedNames = undefined;
      }
    });
  }

  *#pendingPair(name: string | undefined): Iterable<Pair> {
    const pending = name === undefined ? undefined : this.#pending.get(name);
    if (pending?.value !== undefined) yield { key: pending.key, value: pending.value };
  }

  #namesIn(range: ByteRange): string[] {
    this.#sortedNames ??= [...this.#pending.keys()].sort();
    const names = this.#sortedNames;
    return names.slice(
      firstAtOrAfter(names, nameOf(range.lower)),
      firstAtOrAfter(names, nameOf(range.upper)),
    );
  }
}

function readTotals(note: Buffer | undefined): Totals {
  return note === undefined ? {} : decodeValue<Totals>(note);
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}

function isBefore(name: string | undefined, other: string, reverse: boolean): boolean {
  return name !== undefined && (reverse ? name > other : name < other);
}

function firstAtOrAfter(names: readonly string[], bound: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] as string) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
