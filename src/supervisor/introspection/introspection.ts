// The whole system's introspection, put together on the main thread from what each thread's inspector says
// (see contract.ts for what it promises).

import type { Timer } from '../../std/clock.ts';
import { isFault } from '../../std/errors.ts';
import type { Address, Ref } from '../protocol.ts';
import { typed } from '../ref.ts';
import { inspectorAddress, MAIN_THREAD, type Runtime } from '../runtime.ts';
import type { ThreadView } from '../threads/thread-pool.ts';
import {
  ACTORS_LISTED_MAX,
  type ActorReport,
  type Batch,
  type DeadLetterReport,
  type DeadLettersOptions,
  type Introspection,
  introspectionFaults,
  SILENT_AFTER_MS,
  type SnapshotOptions,
  type SystemSnapshot,
  type SystemTotals,
  type ThreadReport,
  type TraceEvent,
} from './contract.ts';
import type { InspectedThread, inspectorProtocol } from './inspector.ts';
import { Tap } from './tap.ts';

/** How soon the dead letters of a new thread are followed; none is lost until then, since each thread keeps its newest. */
const FOLLOW_NEW_MS = 500;

export const EDGE_NAME = 'edge';

interface Answer {
  readonly view: ThreadView;
  /** Null when it was not asked, or did not answer. */
  readonly survey: InspectedThread | null;
}

export class SystemIntrospection implements Introspection {
  readonly #runtime: Runtime;
  readonly #workers: () => readonly ThreadView[];

  constructor(runtime: Runtime, workers: () => readonly ThreadView[]) {
    this.#runtime = runtime;
    this.#workers = workers;
  }

  async snapshot(options: SnapshotOptions = {}): Promise<SystemSnapshot> {
    const asked = await Promise.all(this.#threads().map((view) => this.#survey(view, options)));
    // One that went away meanwhile is not silent, it is gone.
    const alive = new Set(this.#threads().map(({ thread }) => thread));
    const answers = asked.filter(({ view }) => alive.has(view.thread));
    const surveys = answers.flatMap(({ survey }) => survey ?? []);
    const actors = withRecords(surveys).sort((a, b) => comparePaths(a.path, b.path));
    const present = actors.reduce((count, { address }) => count + (address === null ? 0 : 1), 0);
    return {
      atMs: this.#runtime.clock.nowMs(),
      totals: totalsOf(answers),
      threads: answers.map(reportOf),
      actors,
      actorsOmitted: surveys.reduce((sum, survey) => sum + survey.actors, 0) - present,
    };
  }

  deadLetters({
    sinceMs = this.#runtime.clock.nowMs(),
  }: DeadLettersOptions = {}): AsyncIterableIterator<Batch<DeadLetterReport>> {
    const { clock } = this.#runtime;
    /** Since when the letters of a thread are not followed yet; null while they are. */
    const since = new Map<number, number | null>();
    const abort = new AbortController();
    let timer: Timer | null = null;
    const tap = new Tap<DeadLetterReport>(() => {
      timer?.cancel();
      abort.abort();
    });
    const follow = (): void => {
      for (const { thread, state } of this.#threads()) {
        const fromMs = since.get(thread) ?? sinceMs;
        if (!isUp(state) || since.get(thread) === null) continue;
        since.set(thread, null);
        // It may have been refused by a thread that has too much to do: then it is tried again.
        void this.#pour(thread, fromMs, tap, abort.signal).then(() => since.set(thread, clock.nowMs()));
      }
      timer = clock.startTimer(FOLLOW_NEW_MS, follow);
    };
    follow();
    return tap;
  }

  async getState(actor: Address | string): Promise<unknown> {
    const { address, inspector } = await this.#find(actor);
    return inspector.ask('getState', { actor: address.actor });
  }

  async suspend(actor: Address | string): Promise<void> {
    const { address, inspector } = await this.#find(actor);
    await inspector.ask('suspend', { actor: address.actor });
  }

  async resume(actor: Address | string): Promise<void> {
    const { address, inspector } = await this.#find(actor);
    await inspector.ask('resume', { actor: address.actor });
  }

  trace(actor: Address | string): AsyncIterableIterator<Batch<TraceEvent>> {
    const opened = this.#find(actor).then(({ address, inspector }) =>
      inspector.stream('trace', { actor: address.actor }),
    );
    // Told to the reader by `next`; without one nobody needs to know.
    opened.catch(() => undefined);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: async () => (await opened).next(),
      return: async () => {
        const events = await opened.catch(() => null);
        await events?.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  #threads(): readonly ThreadView[] {
    return [{ thread: MAIN_THREAD, name: EDGE_NAME, state: 'ready', health: null }, ...this.#workers()];
  }

  #inspector(thread: number): Ref<typeof inspectorProtocol> {
    return typed<typeof inspectorProtocol>(this.#runtime.refTo(inspectorAddress(thread), null));
  }

  /** U2. */
  async #survey(view: ThreadView, options: SnapshotOptions): Promise<Answer> {
    if (!isUp(view.state)) return { view, survey: null };
    const { actorsMax = ACTORS_LISTED_MAX, withinMs: deadlineMs = SILENT_AFTER_MS } = options;
    const asked = this.#inspector(view.thread).ask('survey', { actorsMax }, { deadlineMs });
    return { view, survey: await orNull(asked) };
  }

  async #find(actor: Address | string): Promise<Found> {
    const address = typeof actor === 'string' ? await this.#locate(actor) : actor;
    return { address, inspector: this.#inspector(address.thread) };
  }

  async #locate(path: string): Promise<Address> {
    const ready = this.#threads().filter(({ state }) => isUp(state));
    const found = await Promise.all(
      ready.map(({ thread }) =>
        orNull(this.#inspector(thread).ask('locate', { path }, { deadlineMs: SILENT_AFTER_MS })),
      ),
    );
    const address = found.find((one) => one !== null);
    if (address === undefined) throw introspectionFaults.actor_not_found(`There is no actor ${path}`);
    return address;
  }

  /** Never rejects: with its thread the letters end. */
  async #pour(
    thread: number,
    sinceMs: number,
    tap: Tap<DeadLetterReport>,
    signal: AbortSignal,
  ): Promise<void> {
    const letters = this.#inspector(thread).stream('deadLetters', { sinceMs }, { signal });
    try {
      for await (const { items, missed } of letters) {
        tap.pour({ items: items.map((letter) => ({ ...letter, thread })), missed });
      }
    } catch (error) {
      if (!isFault(error)) throw error;
    }
  }
}

interface Found {
  readonly address: Address;
  readonly inspector: Ref<typeof inspectorProtocol>;
}

/** Whether it can be asked. */
function isUp(state: ThreadView['state']): boolean {
  return state === 'ready' || state === 'retiring';
}

/** Null when nobody answered: too late, too full, or gone. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (isFault(error) && error.retryable) return null;
    throw error;
  }
}

/** The restarts of a child on another thread than its supervisor's are known to the supervisor's. */
function withRecords(surveys: readonly InspectedThread[]): ActorReport[] {
  const records = new Map(
    surveys.flatMap(({ elsewhere }) => elsewhere.map((record) => [record.actor, record] as const)),
  );
  return surveys.flatMap(({ listed }) =>
    listed.map((report) => {
      const record = report.address === null ? undefined : records.get(report.address.actor);
      return record === undefined
        ? report
        : { ...report, restarts: record.restarts, lastFailure: record.lastFailure };
    }),
  );
}

function reportOf({ view: { thread, name, state, health }, survey }: Answer): ThreadReport {
  return {
    thread,
    name,
    state: isUp(state) && survey === null ? 'silent' : state,
    actors: survey?.actors ?? health?.actors ?? null,
    queued: survey?.queued ?? health?.queued ?? null,
    heapUsedBytes: survey?.heapUsedBytes ?? health?.heapUsedBytes ?? null,
    loopLagMs: survey?.loopLagMs ?? health?.loopLagMs ?? null,
  };
}

function totalsOf(answers: readonly Answer[]): SystemTotals {
  const totals = { actors: 0, queued: 0, sent: 0, handled: 0, rejected: 0, deadLettered: 0, restarts: 0 };
  for (const { view, survey } of answers) {
    const known = survey ?? view.health;
    if (known === null) continue;
    totals.actors += known.actors;
    totals.queued += known.queued;
    totals.sent += known.counters.sent;
    totals.handled += known.counters.handled;
    totals.rejected += known.counters.rejected;
    totals.deadLettered += known.counters.deadLettered;
    totals.restarts += known.counters.restarts;
  }
  return totals;
}

/** Segment by segment, so that a parent is followed by all of its own before its next sibling. */
function comparePaths(a: string, b: string): number {
  const left = a.replaceAll('/', '\0');
  const right = b.replaceAll('/', '\0');
  return left < right ? -1 : left > right ? 1 : 0;
}
