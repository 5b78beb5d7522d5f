// Survey: one thread's actors as data, bounded (U1). It looks at every cell once and copies only what it lists, so that a
// thread with a hundred thousand actors is held up for some ten milliseconds.

import type { Cell } from '../cell.ts';
import type { ChildTrouble } from '../children.ts';
import type { Counters, Runtime } from '../runtime.ts';
import { type ActorReport, FAILURE_CHARS_MAX } from './contract.ts';

export interface ThreadSurvey {
  readonly counters: Counters;
  readonly actors: number;
  readonly queued: number;
  readonly listed: readonly ActorReport[];
  /** What supervisors here know of children that live on other threads. */
  readonly elsewhere: readonly ChildRecord[];
}

export interface ChildRecord {
  readonly actor: number;
  readonly restarts: number;
  readonly lastFailure: string | null;
}

export function surveyThread(runtime: Runtime, actorsMax: number): ThreadSurvey {
  const here = new Map<number, ChildRecord>();
  const elsewhere: ChildRecord[] = [];
  const waiting: ActorReport[] = [];
  const listing = new Listing(actorsMax);
  let queued = runtime.queuedBeside();
  for (const cell of runtime.cells.values()) {
    const { mailboxLength } = cell;
    queued += mailboxLength;
    listing.offer(cell, mailboxLength);
    cell.forEachTroubledChild((child) => {
      if (child.actor === null) {
        if (waiting.length < actorsMax) waiting.push(waitingReport(cell, child));
        return;
      }
      const record = {
        actor: child.actor,
        restarts: child.restarts,
        lastFailure: excerpt(child.lastFailure),
      };
      if (child.thread === runtime.thread) here.set(child.actor, record);
      else if (elsewhere.length < actorsMax) elsewhere.push(record);
    });
  }
  const nowMs = runtime.clock.nowMs();
  return {
    counters: { ...runtime.counters },
    actors: runtime.cells.size,
    queued,
    listed: [...listing.all().map(({ cell }) => reportOf(cell, here.get(cell.actor), nowMs)), ...waiting],
    elsewhere,
  };
}

function reportOf(cell: Cell, record: ChildRecord | undefined, nowMs: number): ActorReport {
  return {
    path: cell.path,
    thread: cell.thread,
    address: cell.address,
    // A cell that has terminated is in no list any more.
    state: cell.state === 'terminated' ? 'stopping' : cell.state,
    mailboxLength: cell.mailboxLength,
    handled: cell.handled,
    restarts: record?.restarts ?? 0,
    lastFailure: record?.lastFailure ?? null,
    ageMs: nowMs - cell.startedAtMs,
  };
}

function waitingReport(parent: Cell, { id, restarts, lastFailure }: ChildTrouble): ActorReport {
  return {
    path: parent.path === '' ? id : `${parent.path}/${id}`,
    thread: parent.thread,
    address: null,
    state: 'restarting',
    mailboxLength: 0,
    handled: 0,
    restarts,
    lastFailure: excerpt(lastFailure),
    ageMs: 0,
  };
}

function excerpt(failure: string | null): string | null {
  return failure === null || failure.length <= FAILURE_CHARS_MAX
    ? failure
    : `${failure.slice(0, FAILURE_CHARS_MAX)}…`;
}

interface Entry {
  readonly cell: Cell;
  readonly mailboxLength: number;
}

/** Half of it the oldest actors, which hold the tree together, the rest the busiest of the others. */
class Listing {
  readonly #oldest: Entry[] = [];
  readonly #oldestMax: number;
  readonly #busiestMax: number;
  #busiest: Entry[] = [];
  /** The least busy that still has a place; null while there is room. */
  #last: Entry | null = null;

  constructor(actorsMax: number) {
    this.#oldestMax = Math.ceil(actorsMax / 2);
    this.#busiestMax = actorsMax - this.#oldestMax;
  }

  offer(cell: Cell, mailboxLength: number): void {
    if (this.#oldest.length < this.#oldestMax) {
      this.#oldest.push({ cell, mailboxLength });
      return;
    }
    const last = this.#last;
    if (last !== null && mailboxLength <= last.mailboxLength) {
      if (mailboxLength < last.mailboxLength || cell.handled <= last.cell.handled) return;
    }
    this.#busiest.push({ cell, mailboxLength });
    // Sorted once for as many as it holds, so that a thread of idle actors is passed over quickly.
    if (this.#busiest.length > this.#busiestMax * 2) this.#prune();
  }

  all(): readonly Entry[] {
    this.#prune();
    return [...this.#oldest, ...this.#busiest];
  }

  #prune(): void {
    if (this.#busiest.length <= this.#busiestMax) return;
    this.#busiest = this.#busiest.sort(byWork).slice(0, this.#busiestMax);
    this.#last = this.#busiest.at(-1) ?? null;
  }
}

function byWork(a: Entry, b: Entry): number {
  return b.mailboxLength - a.mailboxLength || b.cell.handled - a.cell.handled;
}
