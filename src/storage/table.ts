// Table: typed rows under keys, and secondary indexes, over any view of the data.
// T1 A row and its index entries change in the same commit; an entry that a row no longer has is gone with the change.
// T2 The number of rows is kept, not counted.
// An index that is declared on a table with rows holds only what is put from then on: its migration puts the rows again.

import { present } from '../std/assert.ts';
import { decodeValue, encodeValue } from './codec.ts';
import type { Entry, IndexDeclarations, Key, RangeOptions, Table, TableDeclaration } from './contract.ts';
import type { Draft, View } from './draft.ts';
import { decodeKey, encodeKey, endOfKey, joinKey, SEPARATOR } from './key.ts';
import { ABOVE_ENTRY, ABOVE_ROW, byteRange } from './range.ts';

/** An index entry says all with its key; the engine wants a value none the less. */
const PRESENT = Buffer.of(1);

interface Index<Value> {
  readonly area: Buffer;
  readonly keyOf: (value: Value, key: Key) => Key | null;
}

export class StoredTable<Value, IndexName extends string = string> implements Table<Value, IndexName> {
  readonly name: string;
  readonly #collection: string;
  readonly #rows: Buffer;
  readonly #indexes: ReadonlyMap<string, Index<Value>>;
  readonly #committed: View;

  constructor(declaration: TableDeclaration<Value, IndexDeclarations<Value>>, committed: View) {
    this.name = declaration.name;
    this.#collection = `table ${declaration.name}`;
    this.#rows = areaOf('table', declaration.name);
    this.#indexes = new Map(
      Object.entries(declaration.indexes ?? {}).map(([index, keyOf]) => [
        index,
        { area: areaOf('table', declaration.name, index), keyOf },
      ]),
    );
    this.#committed = committed;
  }

  get(key: Key): Value | undefined {
    return this.getFrom(this.#committed, key);
  }

  has(key: Key): boolean {
    return this.#committed.get(this.#collection, this.#rowKey(key)) !== undefined;
  }

  range(options: RangeOptions = {}): Iterable<Entry<Value>> {
    return this.rangeFrom(this.#committed, options);
  }

  by(index: IndexName, options: RangeOptions = {}): Iterable<Entry<Value>> {
    return this.byFrom(this.#committed, index, options);
  }

  count(): number {
    return this.#committed.totals(this.#collection).count ?? 0;
  }

  getFrom(view: View, key: Key): Value | undefined {
    const bytes = view.get(this.#collection, this.#rowKey(key));
    return bytes === undefined ? undefined : decodeValue<Value>(bytes);
  }

  *rangeFrom(view: View, options: RangeOptions): Iterable<Entry<Value>> {
    const range = byteRange(this.#rows, options, ABOVE_ROW);
    for (const { key, value } of paged(view.scan(this.#collection, range, directionOf(options)), options)) {
      yield { key: decodeKey(key, this.#rows.length), value: decodeValue<Value>(value) };
    }
  }

  *keysFrom(view: View, options: RangeOptions): Iterable<Key> {
    const range = byteRange(this.#rows, options, ABOVE_ROW);
    const pairs = view.scan(this.#collection, range, { ...directionOf(options), keysOnly: true });
    for (const { key } of paged(pairs, options)) yield decodeKey(key, this.#rows.length);
  }

  *keysByFrom(view: View, indexName: string, options: RangeOptions): Iterable<Key> {
    const { area } = this.#index(indexName);
    const range = byteRange(area, options, ABOVE_ENTRY);
    const entries = view.scan(this.#collection, range, { ...directionOf(options), keysOnly: true });
    for (const { key: entry } of paged(entries, options)) {
      yield decodeKey(entry, endOfKey(entry, area.length) + SEPARATOR.length);
    }
  }

  *byFrom(view: View, indexName: string, options: RangeOptions): Iterable<Entry<Value>> {
    const { area } = this.#index(indexName);
    const range = byteRange(area, options, ABOVE_ENTRY);
    const entries = view.scan(this.#collection, range, { ...directionOf(options), keysOnly: true });
    for (const { key: entry } of paged(entries, options)) {
      const rowKey = entry.subarray(endOfKey(entry, area.length) + SEPARATOR.length);
      const bytes = view.get(this.#collection, joinKey(this.#rows, rowKey));
      // Outside a transaction a row may go between the page of entries and now.
      if (bytes !== undefined) yield { key: decodeKey(rowKey), value: decodeValue<Value>(bytes) };
    }
  }

  putInto(draft: Draft, key: Key, value: Value): void {
    const rowKey = this.#rowKey(key);
    const before = draft.get(this.#collection, rowKey);
    const obsolete = new Map(
      before === undefined
        ? []
        : this.#entriesOf(key, decodeValue<Value>(before)).map((entry) => [nameOf(entry), entry]),
    );
    for (const entry of this.#entriesOf(key, value)) {
      if (!obsolete.delete(nameOf(entry))) draft.put(this.#collection, entry, PRESENT);
    }
    for (const entry of obsolete.values()) draft.remove(this.#collection, entry);
    if (before === undefined) draft.addToTotals(this.#collection, { count: 1 });
    draft.put(this.#collection, rowKey, encodeValue(value));
  }

  removeFrom(draft: Draft, key: Key): boolean {
    const rowKey = this.#rowKey(key);
    const before = draft.get(this.#collection, rowKey);
    if (before === undefined) return false;
    for (const entry of this.#entriesOf(key, decodeValue<Value>(before)))
      draft.remove(this.#collection, entry);
    draft.remove(this.#collection, rowKey);
    draft.addToTotals(this.#collection, { count: -1 });
    return true;
  }

  #rowKey(key: Key): Buffer {
    return joinKey(this.#rows, encodeKey(key));
  }

  #index(name: string): Index<Value> {
    return present(this.#indexes.get(name), `index ${name} of table ${this.name}`);
  }

  #entriesOf(key: Key, value: Value): Buffer[] {
    const entries: Buffer[] = [];
    for (const { area, keyOf } of this.#indexes.values()) {
      const indexKey = keyOf(value, key);
      if (indexKey !== null) entries.push(joinKey(area, encodeKey(indexKey), SEPARATOR, encodeKey(key)));
    }
    return entries;
  }
}

/** Where the keys of one table, or of one of its indexes, lie. */
function areaOf(...names: readonly string[]): Buffer {
  return joinKey(encodeKey(names), SEPARATOR);
}

function directionOf({ reverse = false }: RangeOptions): { readonly reverse: boolean } {
  return { reverse };
}

function* paged<Item>(items: Iterable<Item>, { offset = 0, limit = Infinity }: RangeOptions): Iterable<Item> {
  if (limit <= 0) return;
  let position = 0;
  for (const item of items) {
    position += 1;
    if (position > offset) yield item;
    if (position >= offset + limit) return;
  }
}

function nameOf(entry: Buffer): string {
  return entry.toString('latin1');
}
