// Model lists: the cache of what the providers said about their models. Owned by the providers actor.
// L1 One request at a time per provider, shared by all who wait for it; every wait has its own deadline.
// L2 A list is fresh for some minutes; an old one is better than none while a new one is fetched or cannot be had.
// L3 A connection that changed (another key, another address) starts with nothing known. Who still has the old one is answered
//    by its provider, apart from the others, and nothing of it is kept.

import type { Clock } from '../../std/clock.ts';
import type { Fault } from '../../std/errors.ts';
import { type ListedModel, listModels } from './model-list.ts';
import type { Connection } from './protocol.ts';
import { faultOf } from './provider-failure.ts';
import type { Transport } from './transport.ts';

const FRESH_MS = 5 * 60 * 1000;
/** How long a failed listing keeps a turn (not a user who asks for the list) from waiting for another. */
const FAILURE_FRESH_MS = 30 * 1000;
/** The longest that anybody waits; a listing that takes longer is aborted. */
export const LISTING_MS_MAX = 5_000;

export type Listing =
  | { readonly kind: 'listed'; readonly models: readonly ListedModel[] }
  | { readonly kind: 'failed'; readonly fault: Fault };

export interface ModelLists {
  /** What is known without asking, however old. */
  known(provider: string): readonly ListedModel[] | null;
  /** A fresh list, fetched when there is none; the failure, or null when it took longer than `waitMs`. */
  fresh(connection: Connection, waitMs: number): Promise<Listing | null>;
  /** Asks the provider now; null when it took longer than `waitMs`. */
  fetched(connection: Connection, waitMs: number): Promise<Listing | null>;
  /** Whether a turn should wait for a list: there is none, and the last try was no failure just now. */
  isWorthWaitingFor(provider: string): boolean;
  /** L3. */
  forget(provider: string): void;
  /** Aborts what is being fetched. */
  close(): void;
}

interface Entry {
  readonly models: readonly ListedModel[] | null;
  readonly listedAtMs: number;
  readonly failedAtMs: number;
}

const NOTHING: Entry = {
  models: null,
  listedAtMs: Number.NEGATIVE_INFINITY,
  failedAtMs: Number.NEGATIVE_INFINITY,
};

export interface ModelListsParts {
  readonly transport: Transport;
  readonly clock: Clock;
  /** Whether the provider still has this connection (L3). */
  readonly isPresent: (connection: Connection) => boolean;
}

export function createModelLists({ transport, clock, isPresent }: ModelListsParts): ModelLists {
  const entries = new Map<string, Entry>();
  const fetching = new Map<string, { readonly listing: Promise<Listing>; readonly abort: AbortController }>();

  const entryOf = (provider: string): Entry => entries.get(provider) ?? NOTHING;

  const fetchList = async (connection: Connection, abort: AbortController): Promise<Listing> => {
    const { provider } = connection;
    const deadline = clock.startTimer(LISTING_MS_MAX, () => abort.abort());
    // A list that was forgotten meanwhile belongs to a connection that is no more.
    const isCurrent = (): boolean => fetching.get(provider)?.abort === abort;
    try {
      const models = await listModels(connection, transport, abort.signal);
      const listedAtMs = clock.monotonicMs();
      if (isCurrent()) entries.set(provider, { ...NOTHING, models, listedAtMs });
      return { kind: 'listed', models };
    } catch (error) {
      if (isCurrent()) entries.set(provider, { ...entryOf(provider), failedAtMs: clock.monotonicMs() });
      return { kind: 'failed', fault: faultOf(error, { connection, begun: false, nowMs: clock.nowMs() }) };
    } finally {
      deadline.cancel();
      if (isCurrent()) fetching.delete(provider);
    }
  };

  const fetched: ModelLists['fetched'] = (connection, waitMs) => {
    if (!isPresent(connection)) return within(clock, waitMs, fetchList(connection, new AbortController()));
    let current = fetching.get(connection.provider);
    if (current === undefined) {
      const abort = new AbortController();
      // Starts in the next microtask, when the entry below is there.
      const listing = Promise.resolve().then(() => fetchList(connection, abort));
      current = { listing, abort };
      fetching.set(connection.provider, current);
    }
    return within(clock, waitMs, current.listing);
  };

  return {
    known: (provider) => entryOf(provider).models,
    async fresh(connection, waitMs) {
      const { models, listedAtMs } = entryOf(connection.provider);
      const isFresh = models !== null && clock.monotonicMs() - listedAtMs < FRESH_MS;
      if (isFresh) return { kind: 'listed', models };
      const listing = await fetched(connection, waitMs);
      const hasOld = models !== null && listing?.kind !== 'listed';
      return hasOld ? { kind: 'listed', models } : listing; // L2
    },
    fetched,
    isWorthWaitingFor(provider) {
      const { models, failedAtMs } = entryOf(provider);
      return models === null && clock.monotonicMs() - failedAtMs >= FAILURE_FRESH_MS;
    },
    forget(provider) {
      entries.delete(provider);
      fetching.get(provider)?.abort.abort();
      fetching.delete(provider);
    },
    close() {
      for (const { abort } of fetching.values()) abort.abort();
      fetching.clear();
    },
  };
}

/** Null when the work takes longer; the work goes on. */
async function within<T>(clock: Clock, waitMs: number, work: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = clock.startTimer(waitMs, () => resolve(null));
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.cancel();
  }
}
