// Commit queue: brings the writers of one thread together. While a commit is on its way, the next one gathers.
// Q1 One commit at a time: what comes later is decided on what is committed.
// Q2 A change that was decided on data which another thread has changed meanwhile is decided again. Rare, because the
//    actor that owns a table is the one that writes it; and harmless, because changes have no effect but their commit.
// Q3 None may land behind a gap: a commit that fails takes the appends behind it along, and once an append is refused
//    for want of room, all are until the queue has drained.
// Q4 An outcome, an error of the change included, is told only when the data it rests on is committed.

import { AssertionFailed, assert } from '../std/assert.ts';
import { systemClock } from '../std/clock.ts';
import type { Durability } from './contract.ts';
import { Draft } from './draft.ts';
import type { Change, Environment } from './environment.ts';
import { storageFaults } from './faults.ts';
import { JournalLog } from './journal-log.ts';
import { bytesOfItem, type LogItem } from './journal-page.ts';

/** More than this many writers of one thread that wait at once are a flood, not a burst. */
const WAITING_WRITES_MAX = 20_000;
const WAITING_APPEND_BYTES_MAX = 64 * 1024 * 1024;
/** Bounds of one commit: how long a thread is busy deciding, and what the engine holds in memory. */
const WRITES_PER_COMMIT_MAX = 256;
const DECIDING_MS_MAX = 10;
/** Records that are written behind the last change (Draft D5): as many take about as long. */
const GATHERED_MAX = 2_000;
const APPEND_BYTES_PER_COMMIT_MAX = 16 * 1024 * 1024;
/** Each attempt loses only when another thread's commit won, so the threads together always move on. */
const ATTEMPTS_MAX = 100;

type Outcome =
  | { readonly kind: 'done'; readonly result: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

interface Settle {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Write extends Settle {
  readonly durability: Durability;
  readonly change: (draft: Draft) => unknown;
  attempts: number;
}

interface Decision {
  readonly write: Write;
  readonly outcome: Outcome;
}

interface Append extends Settle {
  readonly durability: Durability;
  readonly items: readonly LogItem[];
  /** Pages that leave the log. */
  readonly removals: readonly Change[];
  readonly bytes: number;
}

export class CommitQueue {
  readonly #environment: Environment;
  readonly #log: JournalLog;
  #writes: Write[] = [];
  #appends: Append[] = [];
  #appendBytes = 0;
  #isFlooded = false;
  #working: Promise<void> | undefined;
  #closed = false;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#log = new JournalLog(environment);
  }

  /** Adds to the log without conditions, in the order of the calls. */
  append(durability: Durability, items: readonly LogItem[], removals: readonly Change[] = []): Promise<void> {
    this.#assertOpen();
    const bytes = items.reduce((sum, item) => sum + bytesOfItem(item), 0);
    if (this.#appends.length > 0 && this.#appendBytes + bytes > WAITING_APPEND_BYTES_MAX) {
      this.#isFlooded = true;
    }
    if (this.#isFlooded) {
      return Promise.reject(storageFaults.storage_busy('too many bytes wait to be written'));
    }
    return new Promise<void>((resolve, reject) => {
      this.#appends.push({
        durability,
        items,
        removals,
        bytes,
        resolve: resolve as Settle['resolve'],
        reject,
      });
      this.#appendBytes += bytes;
      this.#wake();
    });
  }

  /** @throws Fault storage_full, storage_busy, storage_damaged; and what `change` throws. */
  write<Result>(durability: Durability, change: (draft: Draft) => Result): Promise<Result> {
    this.#assertOpen();
    if (this.#writes.length >= WAITING_WRITES_MAX) {
      return Promise.reject(storageFaults.storage_busy('too many writes wait'));
    }
    return new Promise<Result>((resolve, reject) => {
      this.#writes.push({ durability, change, attempts: 0, resolve: resolve as Settle['resolve'], reject });
      this.#wake();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.idle();
  }

  #assertOpen(): void {
    assert(!this.#closed, 'nothing is written to a closed storage');
  }

  #wake(): void {
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    // Writers that run in the same turn share the commit.
    await Promise.resolve();
    while (this.#writes.length > 0 || this.#appends.length > 0) {
      await this.#commit(this.#nextAppends());
    }
    this.#working = undefined;
  }

  #nextAppends(): Append[] {
    let bytes = 0;
    let count = 0;
    for (const append of this.#appends) {
      if (count > 0 && bytes + append.bytes > APPEND_BYTES_PER_COMMIT_MAX) break;
      bytes += append.bytes;
      count += 1;
    }
    this.#appendBytes -= bytes;
    if (count === this.#appends.length) this.#isFlooded = false;
    return this.#appends.splice(0, count);
  }

  /** Settles everyone who takes part, or puts them back in the queue; never throws. */
  async #commit(appends: readonly Append[]): Promise<void> {
    const draft = new Draft(this.#environment);
    const decisions = this.#decideNext(draft);
    const all = [...appends, ...decisions.map(({ write }) => write)];
    try {
      draft.close();
      const isEmpty = appends.length === 0 && draft.isEmpty();
      const held = isEmpty || (await this.#commitWith(draft, appends));
      if (all.some(({ durability }) => durability === 'flushed')) await this.#environment.flush();
      for (const append of appends) append.resolve(undefined as never);
      if (held) for (const { write, outcome } of decisions) tell(write, outcome);
      else this.#decideAgain(decisions.map(({ write }) => write));
    } catch (error) {
      for (const waiting of all) waiting.reject(error);
      for (const append of this.#appends.splice(0)) append.reject(error); // Q3
      this.#appendBytes = 0;
      this.#isFlooded = false;
    }
  }

  /** False when what the draft rests on has changed: then only the appends are committed. */
  async #commitWith(draft: Draft, appends: readonly Append[]): Promise<boolean> {
    const removals = appends.flatMap((append) => append.removals);
    const items = appends.flatMap((append) => append.items);
    const draftedItems = draft.logItems();
    if (items.length + removals.length + draftedItems.length === 0) {
      return this.#environment.commit(draft.toCommit([], []));
    }
    await this.#log.open();
    const pages = this.#log.pagesOf(items);
    const drafted = this.#log.pagesOf(draftedItems, pages.length);
    const commit = draft.toCommit(
      [...removals, ...pages, this.#log.head()],
      drafted.length > 0 ? [...drafted, this.#log.head()] : [],
    );
    try {
      const held = await this.#environment.commit(commit);
      this.#log.committed(pages.length + (held ? drafted.length : 0));
      return held;
    } catch (error) {
      this.#log.failed();
      throw error;
    }
  }

  /** As many as one commit takes, and at least one. */
  #decideNext(draft: Draft): Decision[] {
    const decisions: Decision[] = [];
    const startedMs = systemClock.monotonicMs();
    while (decisions.length < WRITES_PER_COMMIT_MAX) {
      const write = this.#writes.shift();
      if (write === undefined) break;
      decisions.push({ write, outcome: decide(draft, write) });
      if (draft.gatheredSize > GATHERED_MAX || systemClock.monotonicMs() - startedMs > DECIDING_MS_MAX) break;
    }
    return decisions;
  }

  #decideAgain(writes: readonly Write[]): void {
    const again: Write[] = [];
    for (const write of writes) {
      write.attempts += 1;
      if (write.attempts < ATTEMPTS_MAX) again.push(write);
      else
        write.reject(
          storageFaults.storage_busy(`the data changed in each of ${ATTEMPTS_MAX} attempts to write`),
        );
    }
    this.#writes.unshift(...again);
  }
}

function decide(draft: Draft, write: Write): Outcome {
  try {
    const result = write.change(draft);
    if (result instanceof Promise) {
      result.catch(() => {}); // Its failure is told below.
      throw new AssertionFailed('a change must not await: it is decided at once');
    }
    draft.settle();
    return { kind: 'done', result };
  } catch (error) {
    draft.undo();
    return { kind: 'threw', error };
  }
}

function tell(write: Write, outcome: Outcome): void {
  if (outcome.kind === 'done') write.resolve(outcome.result as never);
  else write.reject(outcome.error);
}
