// Transaction: the tables, full texts and passages of the contract over one draft, for as long as its change is decided.

import { assert } from '../std/assert.ts';
import type {
  Embedding,
  Entry,
  FullText,
  Key,
  Passage,
  PassageSelection,
  Passages,
  RangeOptions,
  Table,
  TextDocument,
  Transaction,
} from './contract.ts';
import type { Draft } from './draft.ts';
import { StoredFullText } from './full-text.ts';
import { StoredPassages } from './passages.ts';
import { StoredTable } from './table.ts';

/** Decides a change over the draft; the transaction it is given is of no use afterwards. */
export function decideIn<Result>(draft: Draft, change: (tx: Transaction) => Result): Result {
  const tx = new DraftTransaction(draft);
  try {
    return change(tx);
  } finally {
    tx.end();
  }
}

class DraftTransaction implements Transaction {
  #draft: Draft | undefined;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  end(): void {
    this.#draft = undefined;
  }

  get<Value>(table: Table<Value, string>, key: Key): Value | undefined {
    return stored(table).getFrom(this.#open(), key);
  }

  put<Value>(table: Table<Value, string>, key: Key, value: Value): void {
    stored(table).putInto(this.#open(), key, value);
  }

  remove(table: Table<unknown, string>, key: Key): boolean {
    return stored(table).removeFrom(this.#open(), key);
  }

  range<Value>(table: Table<Value, string>, options: RangeOptions = {}): Iterable<Entry<Value>> {
    return stored(table).rangeFrom(this.#open(), options);
  }

  by<Value, IndexName extends string>(
    table: Table<Value, IndexName>,
    index: IndexName,
    options: RangeOptions = {},
  ): Iterable<Entry<Value>> {
    return stored(table).byFrom(this.#open(), index, options);
  }

  indexText(index: FullText, document: TextDocument): void {
    filed(index).indexInto(this.#open(), document);
  }

  removeText(index: FullText, id: string): void {
    filed(index).removeFrom(this.#open(), id);
  }

  putPassage(passages: Passages, passage: Passage): void {
    kept(passages).putInto(this.#open(), passage);
  }

  embedPassage(passages: Passages, id: string, text: string, embedding: Embedding): boolean {
    return kept(passages).embedIn(this.#open(), id, text, embedding);
  }

  removePassage(passages: Passages, id: string): boolean {
    return kept(passages).removeFrom(this.#open(), id);
  }

  passageIds(passages: Passages, selection: PassageSelection = {}): Iterable<string> {
    return kept(passages).idsFrom(this.#open(), selection);
  }

  #open(): Draft {
    assert(this.#draft !== undefined, 'a transaction is used only while its change is decided');
    return this.#draft;
  }
}

function stored<Value>(table: Table<Value, string>): StoredTable<Value> {
  assert(table instanceof StoredTable, 'a table comes from storage.table');
  return table;
}

function filed(index: FullText): StoredFullText {
  assert(index instanceof StoredFullText, 'a full text comes from storage.fullText');
  return index;
}

function kept(passages: Passages): StoredPassages {
  assert(passages instanceof StoredPassages, 'passages come from storage.passages');
  return passages;
}
