// Log: what this thread adds to the log of all journals. Each thread has a run of pages of its own, so that threads need not
// agree on anything, and the engine adds at the right edge of a few places instead of touching a place for each journal.
// L1 No page is written twice: whatever became of a commit that failed, the thread looks before it goes on.
// L2 Whatever changes the log changes its head, in the same commit: who finds the head as it was knows that nothing is new.

import { assert } from '../std/assert.ts';
import type { Change, Environment } from './environment.ts';
import { bytesOfItem, encodePage, type LogItem, PAGE_MAX, pageKey, pageNumberOf } from './journal-page.ts';

/** Sorts before all pages. */
export const HEAD_KEY = Buffer.of(0);
/** A page is read as a whole: small enough to be read for one entry, large enough to be written at the cost of one. */
export const PAGE_BYTES = 32 * 1024;

/** The stamp whose version is the last writer's number. */
const WRITERS = 'journal log writers';
const WRITER_AT = 0;
const CHANGES_AT = 4;
const HEAD_BYTES = 12;

/** What a head said. Numbers, not its bytes: whoever looks at it does so with every read. */
export class SeenHead {
  readonly #writer: number;
  readonly #changes: number;

  constructor(head: Buffer) {
    this.#writer = head.readUInt32BE(WRITER_AT);
    this.#changes = head.readDoubleBE(CHANGES_AT);
  }

  says(head: Buffer): boolean {
    return head.readDoubleBE(CHANGES_AT) === this.#changes && head.readUInt32BE(WRITER_AT) === this.#writer;
  }
}

export class JournalLog {
  readonly #environment: Environment;
  #writer: number | undefined;
  #nextPage = 1;
  #changes = 0;
  #isCertain = true;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Takes a writer's number, when there is none. */
  async open(): Promise<void> {
    if (!this.#isCertain) this.#lookForPages();
    while (this.#writer === undefined) {
      this.#environment.refresh();
      const { version } = this.#environment.stamp(WRITERS);
      const held = await this.#environment.commit({
        unconditional: [],
        conditions: new Map([[WRITERS, version]]),
        conditional: [],
        notes: new Map([[WRITERS, Buffer.of(1)]]),
      });
      if (!held) continue; // Another thread was faster.
      this.#writer = (version ?? 0) + 1;
      this.#nextPage = 1;
    }
  }

  /** The pages for some items, from `skip` pages behind the last one, and the head. */
  pagesOf(items: readonly LogItem[], skip = 0): readonly Change[] {
    const writer = this.#open();
    const changes: Change[] = [];
    let page = this.#nextPage + skip;
    for (const group of pageGroups(items)) {
      changes.push({ space: 'log', key: pageKey(writer, page), value: encodePage(group) });
      page += 1;
    }
    return changes;
  }

  /** L2. */
  head(): Change {
    const value = Buffer.alloc(HEAD_BYTES);
    value.writeUInt32BE(this.#open(), WRITER_AT);
    value.writeDoubleBE(++this.#changes, CHANGES_AT);
    return { space: 'log', key: HEAD_KEY, value };
  }

  committed(pages: number): void {
    this.#nextPage += pages;
    if (this.#nextPage > PAGE_MAX / 2) this.#writer = undefined;
  }

  failed(): void {
    this.#isCertain = false;
  }

  /** L1. */
  #lookForPages(): void {
    const writer = this.#open();
    this.#environment.refresh();
    const range = { lower: pageKey(writer, this.#nextPage), upper: pageKey(writer, PAGE_MAX) };
    for (const { key } of this.#environment.scan('log', range, {
      reverse: true,
      keysOnly: true,
      fresh: false,
    })) {
      this.#nextPage = pageNumberOf(key).page + 1;
      break;
    }
    this.#isCertain = true;
  }

  #open(): number {
    assert(this.#writer !== undefined, 'the log has a writer');
    return this.#writer;
  }
}

function* pageGroups(items: readonly LogItem[]): Iterable<readonly LogItem[]> {
  let group: LogItem[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOfItem(item);
    if (group.length > 0 && bytes + size > PAGE_BYTES) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(item);
    bytes += size;
  }
  if (group.length > 0) yield group;
}
