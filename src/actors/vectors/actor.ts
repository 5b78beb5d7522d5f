// Vectors actor: the door on the edge thread. It checks, and passes on to the thread of the indexes, which starts with the first
// message. Promises V1 to V5 stand in protocol.ts.

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
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
  PASSAGES_MAX,
  passageIndex,
  QUERY_TEXT_LENGTH_MAX,
  RANK_CONSTANT_DEFAULT,
  vectorFaults,
  vectors,
} from './protocol.ts';

import '../services.ts';

const THREAD = 'vectors';
const MEMORY_BYTES_MAX = 1024 ** 3;
/** 20,000 passages take their time on a slow disk. */
const WRITE_DEADLINE_MS = 120_000;

export const vectorsActor = actor({
  module: import.meta.url,
  exportName: 'vectorsActor',
  protocol: vectors,
  setup(context: ActorContext<typeof vectors>) {
    const { storage } = context.services;
    let started: Promise<void> | undefined;

    /** Starts it the first time. By its name, which its successor bears after a crash. */
    const index = async (): Promise<Ref<typeof passageIndex>> => {
      if (started === undefined) {
        context.spawn(
          passageIndexActor,
          { memoryBytesMax: MEMORY_BYTES_MAX },
          {
            id: 'index',
            name: true,
            restart: 'permanent',
            placement: { thread: THREAD },
          },
        );
        started = context.childStarted('index');
      }
      await started;
      return context.named(passageIndex);
    };

    return {
      async put({ collection, passages }, { signal }) {
        checkCollection(collection);
        const order = { collection, passages: checkedPassages(passages) };
        await (await index()).ask('put', order, { signal, deadlineMs: WRITE_DEADLINE_MS });
        return {};
      },
      async replace({ collection, prefix, passages }, { signal }) {
        checkCollection(collection);
        checkId(prefix);
        const order = { collection, prefix, passages: checkedPassages(passages) };
        if (passages.some(({ id }) => !id.startsWith(prefix)))
          throw vectorFaults.vectors_invalid('the id of a replacement begins with the prefix');
        return (await index()).ask('put', order, { signal, deadlineMs: WRITE_DEADLINE_MS });
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
        const embeddings = embedding === undefined ? [] : [checkedVector(embedding)];
        const engines = new Set(
          checked.collections.flatMap((name) => storage.passages(name).engines()).map(({ engine }) => engine),
        );
        const asked = embeddings.filter(({ engine }) => engines.has(engine));
        const hits = await (await index()).ask(
          'hybrid',
          {
            ...checked,
            text: text.slice(0, QUERY_TEXT_LENGTH_MAX),
            embeddings: asked,
            wordsWeight: words_weight ?? 1,
            meaningWeight: meaning_weight ?? 1,
            rankConstant: rank_constant ?? RANK_CONSTANT_DEFAULT,
          },
          { signal },
        );
        if (asked.length > 0) return { hits, by: 'words_and_meaning', note: null };
        return { hits, by: 'words', note: engines.size === 0 ? NO_VECTORS : NO_ENGINE };
      },
    };
  },
});

const NO_VECTORS = 'nothing has been embedded yet';
const NO_ENGINE = 'there is no vector to ask with';

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
