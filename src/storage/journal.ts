// Journals: one log that all writers add to (journal-log.ts), a small index of it in memory (journal-index.ts), and spans for
// what is read more often than it is written (journal-spans.ts). An entry is in the log, or in a span, and then no longer in the log.
// J1 An append reads nothing: the writer counts.
// J2 What one append holds is committed as a whole, in pieces that are bounded, so that reading one entry never decodes a whole
//    journal.
// J3 A journal's spans come before its entries in the log. Moving entries there is invisible to readers: the spans, and the cut that
//    makes the positions in the log void, are one commit (journal-compaction.ts).
// J4 Once it has expired a journal may begin again: a cut speaks of pages, not of numbers.
// The layout is storage's own: only `Journals` promises anything.

import { assert } from '../std/assert.ts';
import { encodeValue } from './codec.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Durability, JournalAppend, JournalEntry, Journals } from './contract.ts';
import type { Draft } from './draft.ts';
import type { Environment } from './environment.ts';
import { framed, Reading } from './journal-frames.ts';
import type { JournalIndex, LoggedJournal } from './journal-index.ts';
import { entriesAt, type LogItem, SEQ_MAX } from './journal-page.ts';
import { areaOf, assertCanBeKey, JournalSpans } from './journal-spans.ts';

const PIECE_ENTRIES_MAX = 512;
const PIECE_BYTES_MAX = 16 * 1024;
/** What `read` gives when it is not told: more than a reader can show at once, less than it takes to stall a thread. */
const READ_ENTRIES_DEFAULT = 1_000;
const READ_BYTES_DEFAULT = 1024 * 1024;
/** Spans that go in one commit when a journal expires. */
const EXPIRED_PER_COMMIT_MAX = 500;

export class StoredJournals<Value> implements Journals<Value> {
  readonly #name: string;
  readonly #queue: CommitQueue;
  readonly #index: JournalIndex;
  readonly #spans: JournalSpans;

  constructor(name: string, queue: CommitQueue, index: JournalIndex, environment: Environment) {
    this.#name = name;
    this.#queue = queue;
    this.#index = index;
    this.#spans = new JournalSpans(environment);
  }

  append(
    journal: string,
    firstSeq: number,
    values: readonly Value[],
    durability?: Durability,
  ): Promise<void> {
    return this.appendAll([{ journal, firstSeq, values }], durability);
  }

  async appendAll(
    appends: readonly JournalAppend<Value>[],
    durability: Durability = 'committed',
  ): Promise<void> {
    const items: LogItem[] = [];
    for (const { journal, firstSeq, values } of appends) {
      if (values.length === 0) continue;
      assert(firstSeq >= 1 && firstSeq + values.length <= SEQ_MAX, 'numbers begin at 1 and are bounded');
      assertCanBeKey(this.#name, journal);
      addItems(items, this.#name, journal, firstSeq, values.map(encodeValue));
    }
    if (items.length > 0) await this.#queue.append(durability, items);
  }

  read(
    journal: string,
    afterSeq: number,
    limits: { readonly entriesMax?: number; readonly bytesMax?: number } = {},
  ): readonly JournalEntry<Value>[] {
    const { entriesMax = READ_ENTRIES_DEFAULT, bytesMax = READ_BYTES_DEFAULT } = limits;
    const reading = new Reading<Value>(afterSeq, entriesMax, bytesMax);
    this.#index.catchUp();
    const logged = this.#index.find(this.#name, journal);
    if (logged === undefined || logged.positions.firstSeq(0) > reading.nextSeq) {
      this.#spans.readInto(areaOf(this.#name, journal), reading); // J3
    }
    if (logged !== undefined && !reading.isFull) this.#readLog(logged, reading);
    return reading.entries;
  }

  lastSeq(journal: string): number {
    this.#index.catchUp();
    const logged = this.#index.find(this.#name, journal);
    if (logged !== undefined) return this.#index.lastSeq(logged);
    return this.#spans.lastSeq(areaOf(this.#name, journal));
  }

  async seal(journal: string): Promise<void> {
    this.#index.catchUp();
    const logged = this.#index.find(this.#name, journal);
    if (logged === undefined) return;
    if (this.#index.isSealed(logged)) return;
    const lastSeq = this.#index.lastSeq(logged);
    await this.#queue.append('committed', [{ kind: 'sealed', name: this.#name, journal, lastSeq }]);
  }

  async expire(journal: string): Promise<void> {
    const area = areaOf(this.#name, journal);
    for (let isGone = false; !isGone; ) {
      isGone = await this.#queue.write('committed', (draft) => this.#expireSome(draft, journal, area));
    }
  }

  *ids(): Iterable<string> {
    this.#index.catchUp();
    const logged = new Set(this.#index.ids(this.#name));
    yield* logged;
    for (const id of this.#spans.ids(this.#name)) if (!logged.has(id)) yield id;
  }

  #readLog({ positions }: LoggedJournal, reading: Reading<Value>): void {
    const { length } = positions;
    for (let index = Math.max(0, positions.upTo(reading.nextSeq) - 1); index < length; index += 1) {
      const page = this.#index.page(positions.writer(index), positions.page(index));
      const { count, start, end } = entriesAt(page, positions.at(index));
      reading.take(page, start, end, positions.firstSeq(index), count);
      if (reading.isFull) return;
    }
  }

  /** True when that was all. */
  #expireSome(draft: Draft, journal: string, area: Buffer): boolean {
    let isGone = false;
    const isDecided = draft.changeJournal(this.#name, journal, () => {
      this.#index.catchUp();
      const keys = this.#spans.keys(area, EXPIRED_PER_COMMIT_MAX);
      const logged = this.#index.find(this.#name, journal);
      isGone = keys.length < EXPIRED_PER_COMMIT_MAX;
      if (keys.length === 0 && logged === undefined) return null;
      const changes = keys.map((key) => ({ space: 'journals' as const, key, value: undefined }));
      if (logged === undefined) return { changes, items: [], makesRoom: true };
      const { through } = logged.positions.prefix(logged.positions.length);
      return { changes, items: [{ kind: 'cut', name: this.#name, journal, through }], makesRoom: true };
    });
    return isDecided && isGone;
  }
}

/** J2. */
function addItems(
  items: LogItem[],
  name: string,
  journal: string,
  firstSeq: number,
  frames: readonly Buffer[],
): void {
  const itemOf = (from: number, to: number): LogItem => {
    const body = framed(from === 0 && to === frames.length ? frames : frames.slice(from, to));
    return { kind: 'entries', name, journal, firstSeq: firstSeq + from, count: to - from, body };
  };
  let from = 0;
  let bytes = 0;
  for (const [index, frame] of frames.entries()) {
    if (index > from && (index === from + PIECE_ENTRIES_MAX || bytes + frame.length > PIECE_BYTES_MAX)) {
      items.push(itemOf(from, index));
      from = index;
      bytes = 0;
    }
    bytes += frame.length;
  }
  items.push(itemOf(from, frames.length));
}
