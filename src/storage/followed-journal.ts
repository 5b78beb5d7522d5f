// FollowedJournal: a journal that has readers. Each is with its consumer, ready for its turn, or has read all there is and
// waits; in the order in which they came.
// F1 A reader waits when its cursor is at the last number that is known. Whatever is committed later is told (D2).

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

export class FollowedJournal<Item> implements Desk<Item> {
  readonly id: string;
  readerCount = 0;
  readonly #attendance: Attendance<Item>;
  readonly #ready = new Set<JournalReader<Item>>();
  readonly #waiting = new Set<JournalReader<Item>>();
  /** F1; null when one has to look. */
  #lastSeq: number | null = null;

  constructor(id: string, attendance: Attendance<Item>) {
    this.id = id;
    this.#attendance = attendance;
  }

  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  wake(lastSeq: number | null): void {
    this.#lastSeq = lastSeq;
    for (const reader of this.#waiting) {
      if (this.#hasReadAll(reader)) continue;
      this.#waiting.delete(reader);
      this.#ready.add(reader);
    }
    if (this.hasReady) this.#attendance.queue(this);
  }

  ask(reader: JournalReader<Item>): void {
    if (this.#hasReadAll(reader)) {
      this.#waiting.add(reader);
      return;
    }
    this.#ready.add(reader);
    this.#attendance.queue(this);
  }

  leave(reader: JournalReader<Item>): void {
    this.#ready.delete(reader);
    this.#waiting.delete(reader);
    this.readerCount -= 1;
    if (this.readerCount === 0) this.#attendance.forget(this);
  }

  /** Serves up to so many readers; answers how many. */
  serve(readersMax: number): number {
    let served = 0;
    for (const reader of this.#ready) {
      if (served === readersMax) break;
      served += 1;
      this.#ready.delete(reader);
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
      this.#waiting.add(reader);
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
      this.#waiting.add(reader);
    } else reader.end();
  }
}
