// PassageIndex: on the thread of the indexes. Files and removes passages, and searches them.
// N1 What it writes goes in portions of PASSAGES_PER_COMMIT_MAX, each in one commit: searches get their turn in between.
// N2 An index is opened when it is first asked or written to, and sees whatever was committed before a search, by whomever.
// N3 Between messages it settles its indexes, slice by slice. What others wrote is settled within SETTLE_EVERY_MS.

import { isFault } from '../../std/errors.ts';
import { afterTurn } from '../../std/event-loop.ts';
import type { Passages, VectorIndex } from '../../storage/contract.ts';
import { VectorRoom } from '../../storage/vector-room.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { fuse } from './fusion.ts';
import {
  type Hit,
  type NewPassage,
  PASSAGES_PER_COMMIT_MAX,
  type PassageQuery,
  passageIndex,
  vectorFaults,
} from './protocol.ts';

import '../services.ts';

/** Each list of a fusion is read further than is asked for: what is second in both may be the first of all. */
const OVERFETCH = 2;
const OVERFETCH_MIN = 50;

/** To look whether others wrote costs a read of each collection's figures. */
const SETTLE_EVERY_MS = 1_000;

export interface PassageIndexArguments {
  /** Of all indexes together (vector-room.ts). */
  readonly memoryBytesMax: number;
  /** The share of the nearest that is to be found (storage/graph-recall.ts). */
  readonly recallTarget: number;
}

interface OpenIndex {
  readonly collection: Passages;
  readonly engine: string;
  readonly index: VectorIndex;
}

interface Found {
  readonly collection: string;
  readonly id: string;
  readonly score: number;
}

export const passageIndexActor = actor({
  module: import.meta.url,
  exportName: 'passageIndexActor',
  protocol: passageIndex,
  setup(context: ActorContext<typeof passageIndex>, { memoryBytesMax, recallTarget }: PassageIndexArguments) {
    const { storage } = context.services;
    const room = new VectorRoom(memoryBytesMax);
    const collections = new Map<string, Passages>();
    const indexes = new Map<string, OpenIndex>();
    let isSettling = false;
    let hasWarned = false;
    context.onStop(async () => {
      for (const { index } of indexes.values()) await index.close();
    });
    context.exposeState(() => ({
      memoryBytes: room.bytes,
      memoryBytesMax,
      indexes: Array.from(indexes.values(), ({ collection, engine, index }) => ({
        collection: collection.name,
        engine,
        ...index.statistics(),
      })),
    }));

    /** N3. */
    const settle = (): void => {
      if (isSettling) return;
      isSettling = true;
      context.pipe(settleAll(), () => {
        isSettling = false;
      });
    };
    const settleAll = async (): Promise<void> => {
      for (const [key, { collection, engine, index }] of indexes) {
        while (!context.signal.aborted && (await index.work())) await nextTurn();
        if (index.statistics().graphs === 'missing' && !hasWarned) {
          hasWarned = true;
          context.log.warn({ package: 'hnswlib-node' }, 'without it vectors are compared one by one');
        }
        if (collection.engines().some((made) => made.engine === engine)) continue;
        indexes.delete(key);
        await index.close();
      }
    };
    context.every('settle', SETTLE_EVERY_MS, settle);

    const passagesOf = (name: string): Passages => {
      const known = collections.get(name) ?? storage.passages(name);
      collections.set(name, known);
      return known;
    };
    const indexOf = (name: string, engine: string): VectorIndex => {
      const key = `${name} ${engine}`;
      const known = indexes.get(key);
      if (known !== undefined) return known.index;
      const collection = passagesOf(name);
      const index = collection.openIndex(engine, { room, recallTarget });
      indexes.set(key, { collection, engine, index });
      settle();
      return index;
    };

    const nearest = (query: PassageQuery, engine: string, vector: Float32Array, limit: number): Found[] =>
      query.collections
        .filter((name) =>
          passagesOf(name)
            .engines()
            .some((made) => made.engine === engine && made.dimensions === vector.length),
        )
        .flatMap((collection) =>
          indexOf(collection, engine)
            .search({ vector, limit, ...filterOf(query) })
            .map(({ id, similarity }) => ({ collection, id, score: similarity })),
        )
        .sort((a, b) => b.score - a.score)
        .slice(0, limit);

    /** What was removed meanwhile is left out. */
    const hitsOf = (found: readonly Found[]): Hit[] =>
      found.flatMap(({ collection, id, score }) => {
        const passage = passagesOf(collection).get(id);
        return passage === undefined ? [] : [{ collection, ...passage, tags: [...passage.tags], score }];
      });

    return {
      async put({ collection, prefix, passages }, { signal }) {
        const into = passagesOf(collection);
        const obsolete = prefix === undefined ? new Set<string>() : new Set(into.ids({ prefix }));
        for (const { id } of passages) obsolete.delete(id);
        const portions = portionsOf<Change>([
          ...passages.map((passage) => ({ passage })),
          ...Array.from(obsolete, (id) => ({ id })),
        ]);
        for (const portion of portions) {
          signal.throwIfAborted();
          await saved(
            storage.write('flushed', (tx) => {
              for (const { passage, id } of portion) {
                if (passage !== undefined) tx.putPassage(into, passage);
                else if (id !== undefined) tx.removePassage(into, id);
              }
            }),
          );
        }
        for (const { embedding } of passages)
          if (embedding !== undefined) indexOf(collection, embedding.engine);
        settle();
        return { removed: obsolete.size };
      },
      async remove({ collection, ids, prefix, owner }, { signal }) {
        const from = passagesOf(collection);
        const selection = { ...(prefix && { prefix }), ...(owner && { owner }) };
        const all = ids ?? (prefix || owner ? [...from.ids(selection)] : []);
        let removed = 0;
        for (const portion of portionsOf(all)) {
          signal.throwIfAborted();
          removed += await saved(
            storage.write('flushed', (tx) => portion.filter((id) => tx.removePassage(from, id)).length),
          );
        }
        return { removed };
      },
      search({ engine, vector, ...query }, { signal }) {
        signal.throwIfAborted(); // Nobody waits for it any more.
        return hitsOf(nearest(query, engine, vector, query.k));
      },
      hybrid({ text, embedding, wordsWeight, meaningWeight, rankConstant, ...query }, { signal }) {
        signal.throwIfAborted();
        const limit = Math.max(OVERFETCH * query.k, OVERFETCH_MIN);
        const byKey = new Map<string, Found>();
        const keysOf = (found: readonly Found[]): string[] =>
          found.map((one) => {
            const key = `${one.collection} ${one.id}`;
            byKey.set(key, one);
            return key;
          });
        const words = query.collections.map((collection) => ({
          keys: keysOf(
            passagesOf(collection)
              .searchWords({ text, limit, ...filterOf(query) })
              .map(({ id, score }) => ({ collection, id, score })),
          ),
          weight: wordsWeight,
        }));
        const meaning = [embedding ?? []].flat().map(({ engine, vector }) => ({
          keys: keysOf(nearest(query, engine, vector, limit)),
          weight: meaningWeight,
        }));
        const fused = fuse([...words, ...meaning], rankConstant).slice(0, query.k);
        return fused.flatMap(({ key, score, ranks }) => {
          const found = byKey.get(key);
          const [hit] = found === undefined ? [] : hitsOf([{ ...found, score }]);
          if (hit === undefined) return [];
          return [
            {
              ...hit,
              words_rank: bestOf(ranks.slice(0, words.length)),
              meaning_rank: bestOf(ranks.slice(words.length)),
            },
          ];
        });
      },
    };
  },
});

interface Change {
  readonly passage?: NewPassage;
  readonly id?: string;
}

function filterOf({ owners, tags }: PassageQuery) {
  return { ...(owners && { owners }), ...(tags && { tags }) };
}

function bestOf(ranks: readonly (number | null)[]): number | null {
  const found = ranks.filter((rank) => rank !== null);
  return found.length === 0 ? null : Math.min(...found);
}

function* portionsOf<Item>(items: readonly Item[]): Iterable<readonly Item[]> {
  for (let from = 0; from < items.length; from += PASSAGES_PER_COMMIT_MAX) {
    yield items.slice(from, from + PASSAGES_PER_COMMIT_MAX);
  }
}

/** What storage refuses (a full disk, a vector of another length) is told to the caller; anything else is a bug. */
async function saved<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    if (!isFault(error)) throw error;
    if (error.kind === 'invalid') throw vectorFaults.vectors_invalid(error.message);
    throw vectorFaults.vectors_not_saved(`The passages could not be saved: ${error.message}`, {
      cause: error,
    });
  }
}

function nextTurn(): Promise<void> {
  return new Promise(afterTurn);
}
