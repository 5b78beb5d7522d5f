// FollowedJournal: a journal that has readers. Each is with its consumer, ready for its turn, or has read all there is and
// waits; in the order in which they came.
// F1 A reader waits when its cursor is at the last number that is known. Whatever is committed later is told (D2).

import { Chain, type Linked } from '../std/chain.ts';
import type { Batch, Desk, JournalReader } from './journal-reader.ts';

/** What a journal needs of the tail. */
export interface Attendance<Item> {
  /** The entries after a number; null when there is nothing to show. */
  read(followed: FollowedJournal<Item>, afterSeq: number, isOpen: boolean): Batch<Item> | null;
  /** It has readers that are ready. */
  queue(followed: FollowedJournal<Item>): void;
  /** It has no readers any more. */
  forget(followed: FollowedJournal<Item>): void;
}

export class FollowedJournal<Item> implements Desk<Item>, Linked<FollowedJournal<Item>> {
  readonly id: string;
  readerCount = 0;
  /** Its place among the journals with readers that are ready. */
  chain: Chain<FollowedJournal<Item>> | null = null;
  before: FollowedJournal<Item> | null = null;
  behind: FollowedJournal<Item> | null = null;
  readonly #attendance: Attendance<Item>;
  readonly #ready = new Chain<JournalReader<Item>>();
  readonly #waiting = new Chain<JournalReader<Item>>();
  /** F1; null when one has to look. */
  #lastSeq: number | null = null;

  constructor(id: string, attendance: Attendance<Item>) {
    this.id = id;
    this.#attendance = attendance;
  }

  get hasReady(): boolean {
    return this.#ready.first !== null;
  }

  wake(lastSeq: number | null): void {
    this.#lastSeq = lastSeq;
    for (let reader = this.#waiting.first; reader !== null; ) {
      const next: JournalReader<Item> | null = reader.behind;
      if (!this.#hasReadAll(reader)) {
        this.#waiting.remove(reader);
        this.#ready.push(reader);
      }
      reader = next;
    }
    if (this.hasReady) this.#attendance.queue(this);
  }

  ask(reader: JournalReader<Item>): void {
    if (this.#hasReadAll(reader)) {
      this.#waiting.push(reader);
      return;
    }
    this.#ready.push(reader);
    this.#attendance.queue(this);
  }

  leave(reader: JournalReader<Item>): void {
    reader.chain?.remove(reader);
    this.readerCount -= 1;
    if (this.readerCount === 0) this.#attendance.forget(this);
  }

  /** Serves up to so many readers; answers how many. */
  serve(readersMax: number): number {
    let served = 0;
    for (; served < readersMax; served += 1) {
      const reader = this.#ready.shift();
      if (reader === null) break;
      this.#serveOne(reader);
    }
    return served;
  }

  /** F1. */
  #hasReadAll({ cursor }: JournalReader<Item>): boolean {
    return this.#lastSeq !== null && cursor >= this.#lastSeq;
  }

  #serveOne(reader: JournalReader<Item>): void {
    if (this.#hasReadAll(reader)) {
      this.#waiting.push(reader);
      return;
    }
    let batch: Batch<Item> | null;
    // Looked at before the reading: what is committed last is committed before the journal is closed.
    const isOpen = reader.isOpen();
    try {
      batch = this.#attendance.read(this, reader.cursor, isOpen);
    } catch (error) {
      reader.fail(error);
      return;
    }
    if (batch !== null) reader.give(batch);
    else if (isOpen) {
      this.#lastSeq ??= reader.cursor;
      this.#waiting.push(reader);
    } else reader.end();
  }
}
