// Compaction: moves entries from the log into spans, and removes pages of which nothing is wanted any more. The primary
// thread does it in the background, whenever there is something to do, until `stop`.
// K1 Moves are batches: a page is read once for all journals of the batch, and a journal gives up all it has in the log.
// K2 Spans and the cut of the log are one commit, which rests on that nobody expired the journal in the meantime. A crash
//    leaves it done or not begun.
// K3 A page is removed when nothing in it is wanted (journal-leftovers.ts). Each writer's pages are removed from the first on, so
//    that its first page says what is gone.
// K4 What moves: sealed journals, long ones, and, when the log has grown too much, those that hold its oldest pages.
// K5 It takes the thread for STEP_MS at a time, and then leaves it alone for as long or longer.

import { repeatUnreferenced, systemClock, type Timer } from '../std/clock.ts';
import { isFault } from '../std/errors.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Draft } from './draft.ts';
import type { Change, Environment } from './environment.ts';
import { damagedJournal } from './journal-frames.ts';
import type { JournalIndex, LoggedJournal } from './journal-index.ts';
import { journalsInOldestPages, wantsNothing } from './journal-leftovers.ts';
import { entriesAt, type PageNumber, pageKey } from './journal-page.ts';
import type { Positions } from './journal-positions.ts';
import { areaOf, type EntryRun, spansOf } from './journal-spans.ts';

const STEP_MS = 2;
const PAUSE_STEPS = 3;
const PAUSE_STEPS_WHEN_LATE = 1;
/** What other threads append is not announced: this often we look. It also makes batches of seals. */
const LOOK_EVERY_MS = 500;
const BATCH_BYTES_MAX = 16 * 1024 * 1024;
/** What goes in one commit: spans, journals that are cut, pages that leave. */
const COMMIT_BYTES_MAX = 256 * 1024;
const COMMIT_JOURNALS_MAX = 100;
const REMOVALS_MAX = 64;

export interface CompactionLimits {
  /** Above these the log takes long to read when a process starts. */
  readonly logPagesMax: number;
  readonly logBytesMax: number;
  /** Of a batch: the more, the fewer batches read the same page. */
  readonly positionsMax: number;
}

const LIMITS_DEFAULT: CompactionLimits = {
  logPagesMax: 100_000,
  logBytesMax: 256 * 1024 * 1024,
  positionsMax: 32_768,
};

/** Ends what is under way between two steps. */
class Stopped extends Error {}

/** What a batch takes from one journal. */
interface Move {
  readonly logged: LoggedJournal;
  /** As they were when the batch was chosen. */
  readonly positions: Positions;
  readonly through: readonly PageNumber[];
  readonly runs: EntryRun[];
}

interface Packed {
  readonly move: Move;
  readonly spans: readonly Change[];
}

export class JournalCompaction {
  readonly #environment: Environment;
  readonly #index: JournalIndex;
  readonly #queue: CommitQueue;
  readonly #limits: CompactionLimits;
  #looks: Timer | undefined;
  #working: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #stepStartedMs = 0;
  #isLate = false;
  #isStopped = false;

  constructor(
    environment: Environment,
    index: JournalIndex,
    queue: CommitQueue,
    limits: CompactionLimits = LIMITS_DEFAULT,
  ) {
    this.#limits = limits;
    this.#environment = environment;
    this.#index = index;
    this.#queue = queue;
  }

  /** Looks for work from now on. */
  start(): void {
    this.#looks ??= repeatUnreferenced(LOOK_EVERY_MS, () => void this.work());
  }

  /** Resolves when there is nothing to do, or nothing can be done now. */
  work(): Promise<void> {
    this.#working ??= this.#work();
    return this.#working;
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#looks?.cancel();
    this.#endPause?.();
    await this.#working;
  }

  async #work(): Promise<void> {
    try {
      // What is left of this turn of the event loop belongs to someone else.
      await this.#pause(0);
      while ((await this.#moveSome()) || (await this.#removeSome())) await this.#breathe();
    } catch (error) {
      // A disk that is full, or a page that is damaged: whoever appends or reads hears of it. We try again at the next look.
      if (!isFault(error) && !(error instanceof Stopped)) throw error;
    } finally {
      this.#working = undefined;
    }
  }

  /** K1. False when there was nothing to move. */
  async #moveSome(): Promise<boolean> {
    this.#index.catchUp();
    const { keys, bytes } = this.#environment.sizeOf('log');
    this.#isLate = keys > this.#limits.logPagesMax || bytes > this.#limits.logBytesMax;
    const moves = await this.#nextMoves();
    await this.#collect(moves);
    const group: Packed[] = [];
    for (const move of moves) {
      const spans: Change[] = [];
      for (const span of spansOf(areaOf(move.logged.name, move.logged.journal), move.runs)) {
        spans.push(span);
        await this.#breathe();
      }
      group.push({ move, spans });
      if (group.length === COMMIT_JOURNALS_MAX || bytesOf(group) >= COMMIT_BYTES_MAX)
        await this.#commit(group.splice(0));
    }
    await this.#commit(group);
    return moves.length > 0;
  }

  /** K4. */
  async #nextMoves(): Promise<readonly Move[]> {
    const moves = new Map<LoggedJournal, Move>();
    let positionsLeft = this.#limits.positionsMax;
    let bytesLeft = BATCH_BYTES_MAX;
    const add = async (logged: LoggedJournal): Promise<void> => {
      const { length } = logged.positions;
      if (length === 0 || moves.has(logged)) return;
      const affordable = Math.ceil((bytesLeft * length) / Math.max(1, logged.bytes));
      const { positions, through } = logged.positions.prefix(Math.min(positionsLeft, affordable));
      moves.set(logged, { logged, positions, through, runs: [] });
      positionsLeft -= positions.length;
      bytesLeft -= (logged.bytes * positions.length) / length;
      await this.#breathe();
    };
    const isFull = (): boolean => positionsLeft <= 0 || bytesLeft <= 0;
    for (const logged of this.#index.ripe) {
      if (isFull()) break;
      if (this.#index.isRipe(logged)) await add(logged);
      else this.#index.ripe.delete(logged);
    }
    if (moves.size === 0 && this.#isLate) {
      for (const logged of journalsInOldestPages(this.#index)) {
        if (isFull()) break;
        await add(logged);
      }
    }
    return [...moves.values()];
  }

  /** Reads each page once, and takes from it what the moves want. */
  async #collect(moves: readonly Move[]): Promise<void> {
    const pages = new Map<string, { readonly move: Move; readonly position: number }[]>();
    for (const move of moves) {
      const { positions } = move;
      for (let position = 0; position < positions.length; position += 1) {
        const page = pageKey(positions.writer(position), positions.page(position)).toString('latin1');
        const wanted = pages.get(page);
        if (wanted === undefined) pages.set(page, [{ move, position }]);
        else wanted.push({ move, position });
      }
      await this.#breathe();
    }
    for (const [key, wanted] of pages) {
      const page = this.#environment.read('log', Buffer.from(key, 'latin1'));
      if (page === undefined) throw damagedJournal('a page of the log is missing');
      for (const { move, position } of wanted) {
        const { count, start, end } = entriesAt(page, move.positions.at(position));
        const body = Buffer.from(page.subarray(start, end));
        move.runs[position] = { firstSeq: move.positions.firstSeq(position), count, body };
      }
      await this.#breathe();
    }
  }

  async #commit(group: readonly Packed[]): Promise<void> {
    if (group.length === 0) return;
    await this.#queue.write('committed', (draft) => {
      for (const packed of group) this.#decide(draft, packed);
    });
    await this.#breathe();
  }

  /** K2. */
  #decide(draft: Draft, { move: { logged, positions, through }, spans }: Packed): void {
    const { name, journal } = logged;
    draft.changeJournal(name, journal, () => {
      this.#index.catchUp();
      const isAsItWas = this.#index.find(name, journal) === logged && logged.positions.beginsWith(positions);
      if (!isAsItWas) return null;
      return { changes: spans, items: [{ kind: 'cut', name, journal, through }], makesRoom: false };
    });
  }

  /** K3. False when there was nothing to remove. */
  async #removeSome(): Promise<boolean> {
    this.#index.catchUp();
    const removals: Change[] = [];
    const isOver = (): boolean =>
      removals.length === REMOVALS_MAX ||
      (removals.length > 0 && systemClock.monotonicMs() - this.#stepStartedMs > STEP_MS);
    for (const [writer, { first, last }] of this.#index.writers()) {
      for (let page = first; page <= last && !isOver(); page += 1) {
        if (!wantsNothing(this.#index, writer, page)) break;
        removals.push({ space: 'log', key: pageKey(writer, page), value: undefined });
      }
    }
    if (removals.length === 0) return false;
    await this.#queue.append('committed', [], removals);
    return true;
  }

  /** K5. */
  async #breathe(): Promise<void> {
    const stepMs = systemClock.monotonicMs() - this.#stepStartedMs;
    if (stepMs < STEP_MS) return;
    await this.#pause(stepMs * (this.#isLate ? PAUSE_STEPS_WHEN_LATE : PAUSE_STEPS));
  }

  async #pause(ms: number): Promise<void> {
    // Whoever stops it in the middle of a step has no pause to end: one that is begun after that would be waited for.
    if (this.#isStopped) throw new Stopped();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = systemClock.startTimer(ms, resolve);
    this.#endPause = resolve;
    await promise;
    timer.cancel();
    if (this.#isStopped) throw new Stopped();
    this.#stepStartedMs = systemClock.monotonicMs();
  }
}

function bytesOf(group: readonly Packed[]): number {
  let bytes = 0;
  for (const { spans } of group) for (const { value } of spans) bytes += value?.length ?? 0;
  return bytes;
}
