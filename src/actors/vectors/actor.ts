// Vectors actor: the door on the edge thread. It checks, and passes on to the thread of the indexes, which starts with the first
// message. Promises V1 to V5 stand in protocol.ts.

import { isFault } from '../../std/errors.ts';
import type { Static } from '../../std/schema.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import type { Ref, RequestTo } from '../../supervisor/protocol.ts';
import { config } from '../config/protocol.ts';
import { embeddings } from '../embeddings/protocol.ts';
import {
  checkCollection,
  checkedPassage,
  checkedVector,
  checkFilter,
  checkId,
  checkLabel,
} from './checked.ts';
import { passageIndexActor } from './passage-index.ts';
import {
  HITS_MAX,
  type MadeVector,
  PASSAGES_MAX,
  PASSAGES_WAITING_MAX,
  passageIndex,
  QUERY_TEXT_LENGTH_MAX,
  RANK_CONSTANT_DEFAULT,
  vectorFaults,
  vectors,
} from './protocol.ts';
import { ReEmbedding } from './re-embedding.ts';

import '../services.ts';

const THREAD = 'vectors';
const BYTES_PER_MB = 1024 * 1024;
/** A model that is slower has the words answer alone. */
const QUERY_EMBEDDING_MS = 5_000;
/** What others filed without a vector is looked for so often. */
const LOOK_EVERY_MS = 15_000;
/** 20,000 passages take their time on a slow disk. */
const WRITE_DEADLINE_MS = 120_000;

export const vectorsActor = actor({
  module: import.meta.url,
  exportName: 'vectorsActor',
  protocol: vectors,
  setup(context: ActorContext<typeof vectors>) {
    const { storage } = context.services;
    let started: Promise<void> | undefined;
    let passagesWaiting = 0;
    const reEmbedding = new ReEmbedding(context);
    context.exposeState(() => ({
      isIndexStarted: started !== undefined,
      passagesWaiting,
      reEmbedding: reEmbedding.state(),
    }));

    /** Starts it the first time. By its name, which its successor bears after a crash. */
    const index = async (): Promise<Ref<typeof passageIndex>> => {
      started ??= startIndex().catch((error: unknown) => {
        started = undefined;
        throw error;
      });
      await started;
      return context.named(passageIndex);
    };
    const startIndex = async (): Promise<void> => {
      const settings = await context.ask(config, 'settings', {});
      context.spawn(
        passageIndexActor,
        {
          memoryBytesMax: settings['vectors.memory_mb'] * BYTES_PER_MB,
          recallTarget: settings['vectors.recall_target'],
        },
        { id: 'index', name: true, restart: 'permanent', placement: { thread: THREAD } },
      );
      await context.childStarted('index');
    };

    const file = async (
      order: RequestTo<typeof passageIndex, 'put'>,
      signal: AbortSignal,
    ): Promise<{ removed: number }> => {
      const { length } = order.passages;
      if (passagesWaiting > 0 && passagesWaiting + length > PASSAGES_WAITING_MAX)
        throw vectorFaults.vectors_full('too many passages wait to be filed');
      passagesWaiting += length;
      try {
        return await (await index()).ask('put', order, { signal, deadlineMs: WRITE_DEADLINE_MS });
      } finally {
        passagesWaiting -= length;
        reEmbedding.look();
      }
    };

    follow(context, embeddings, 'engines', {}, { onItem: (status) => reEmbedding.follow(status) });
    context.every('look', LOOK_EVERY_MS, () => reEmbedding.look());

    /** The vector of a question; in words, why there is none. */
    const embedded = async (
      text: string,
      signal: AbortSignal,
    ): Promise<Static<typeof MadeVector> | string> => {
      try {
        const { vectors: made, engine } = await context.ask(
          embeddings,
          'embed',
          { texts: [text], kind: 'query', priority: 'interactive' },
          { signal, deadlineMs: QUERY_EMBEDDING_MS },
        );
        return { engine, vector: made[0] as Float32Array };
      } catch (error) {
        if (!isFault(error) || signal.aborted) throw error;
        return error.message;
      }
    };

    return {
      async put({ collection, passages }, { signal }) {
        checkCollection(collection);
        await file({ collection, passages: checkedPassages(passages) }, signal);
        return {};
      },
      replace({ collection, prefix, passages }, { signal }) {
        checkCollection(collection);
        checkId(prefix);
        const checked = checkedPassages(passages);
        if (checked.some(({ id }) => !id.startsWith(prefix)))
          throw vectorFaults.vectors_invalid('the id of a replacement begins with the prefix');
        return file({ collection, prefix, passages: checked }, signal);
      },
      async delete({ collection, ids, prefix, owner }, { signal }) {
        checkCollection(collection);
        ids?.forEach(checkId);
        if (prefix !== undefined) checkId(prefix);
        if (owner !== undefined) checkLabel(owner);
        const order = { collection, ...(ids && { ids }), ...(prefix && { prefix }), ...(owner && { owner }) };
        return (await index()).ask('remove', order, { signal, deadlineMs: WRITE_DEADLINE_MS });
      },
      async search({ engine, vector, ...query }, { signal }) {
        const checked = checkedQuery(query);
        return {
          hits: await (await index()).ask(
            'search',
            { ...checked, ...checkedVector({ engine, vector }) },
            { signal },
          ),
        };
      },
      async hybrid({ text, embedding, words_weight, meaning_weight, rank_constant, ...query }, { signal }) {
        const checked = checkedQuery(query);
        const question = text.slice(0, QUERY_TEXT_LENGTH_MAX).toWellFormed();
        const given = embedding === undefined ? undefined : checkedVector(embedding);
        const ask = async () => {
          const made = checked.collections
            .flatMap((name) => storage.passages(name).engines())
            .filter(({ count }) => count > 0);
          let note: string | null = null;
          let asked = given;
          if (made.length === 0 || question.trim() === '') note = NO_VECTORS;
          else if (asked === undefined) {
            const answer = await embedded(question, signal);
            if (typeof answer === 'string') note = answer;
            else asked = answer;
          }
          // Vectors of another engine say nothing beside this one.
          if (note === null && !made.some(({ engine }) => engine === asked?.engine)) note = NO_VECTORS;
          const order = {
            ...checked,
            text: question,
            embedding: note === null && asked !== undefined ? asked : null,
            wordsWeight: words_weight ?? 1,
            meaningWeight: meaning_weight ?? 1,
            rankConstant: rank_constant ?? RANK_CONSTANT_DEFAULT,
          };
          const hits = await (await index()).ask('hybrid', order, { signal });
          const answer = { hits, by: note === null ? 'words_and_meaning' : 'words', note } as const;
          return { answer, engine: asked?.engine };
        };
        const { answer, engine } = await ask();
        // Another engine was switched to meanwhile: the vectors that this one was compared with may have been deleted before.
        const isOutdated = given === undefined && engine !== undefined && !reEmbedding.serves(engine);
        return isOutdated ? (await ask()).answer : answer;
      },
    };
  },
});

const NO_VECTORS = 'nothing has been embedded yet';

type Query = Parameters<typeof checkFilter>[0] & {
  readonly collections: readonly string[];
  readonly k: number;
};

function checkedQuery({ collections, k, owners, tags }: Query) {
  collections.forEach(checkCollection);
  checkFilter({ owners, tags });
  return {
    collections: [...new Set(collections)],
    k: Math.min(k, HITS_MAX),
    ...(owners && { owners }),
    ...(tags && { tags }),
  };
}

function checkedPassages(passages: Parameters<typeof checkedPassage>[0][]) {
  if (passages.length > PASSAGES_MAX)
    throw vectorFaults.vectors_invalid(`at most ${PASSAGES_MAX} passages are filed at a time`);
  return passages.map(checkedPassage);
}
