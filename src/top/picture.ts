// Picture: what is known of the service at the moment, kept from the events of the feed. Rates come from two snapshots.

import type { ActorRow, DeadLetterRow, RuntimeSnapshot } from '../actors/runtime/protocol.ts';
import { parseTimestamp } from '../std/clock.ts';
import type { FeedEvent } from './feed.ts';

/** More than any terminal has lines for. */
const LETTERS_MAX = 100;

type TotalName = keyof RuntimeSnapshot['totals'];

export class Picture {
  snapshot: RuntimeSnapshot | null = null;
  /** The newest first. */
  letters: readonly DeadLetterRow[] = [];
  missed = 0;
  #before: RuntimeSnapshot | null = null;
  #handledBefore = new Map<string, number>();

  take(event: FeedEvent): void {
    switch (event.kind) {
      case 'snapshot':
        this.#before = this.snapshot;
        this.#handledBefore = new Map(this.snapshot?.tree.map(({ path, handled }) => [path, handled]));
        this.snapshot = event.snapshot;
        return;
      case 'dead_letter':
        this.letters = [event.letter, ...this.letters].slice(0, LETTERS_MAX);
        return;
      case 'missed':
        this.missed += event.count;
        return;
    }
  }

  /** A reconnected feed tells the last minute again, and may be that of another process. */
  forget(): void {
    this.#before = null;
    this.snapshot = null;
    this.letters = [];
    this.missed = 0;
  }

  /** A second; null before there are two snapshots. */
  rateOf(total: TotalName): number | null {
    const seconds = this.#seconds();
    if (seconds === null || this.snapshot === null || this.#before === null) return null;
    return Math.max(0, this.snapshot.totals[total] - this.#before.totals[total]) / seconds;
  }

  /** Messages that it handles a second. */
  workOf({ path, handled }: ActorRow): number {
    const before = this.#handledBefore.get(path);
    const seconds = this.#seconds();
    if (before === undefined || seconds === null) return 0;
    // Fewer than before: a new incarnation, which began at none.
    return (handled >= before ? handled - before : handled) / seconds;
  }

  /** Most mail first, then most work. */
  busiest(): readonly ActorRow[] {
    const rows = [...(this.snapshot?.tree ?? [])];
    return rows.sort(
      (a, b) => b.mailbox - a.mailbox || this.workOf(b) - this.workOf(a) || b.handled - a.handled,
    );
  }

  #seconds(): number | null {
    if (this.snapshot === null || this.#before === null) return null;
    const ms = (parseTimestamp(this.snapshot.at) ?? 0) - (parseTimestamp(this.#before.at) ?? 0);
    return ms > 0 ? ms / 1000 : null;
  }
}
