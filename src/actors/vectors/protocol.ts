// Vectors: passages of text that are found by their words and by their meaning. A collection is one kind of passage
// (`documents`, the chunks of projects); within it a passage has an id, an owner and tags.
// V1 What was acknowledged is flushed, and every search that is asked for afterwards finds it. The same holds for passages that
//    somebody wrote in a transaction of their own (`tx.putPassage`, storage/contract.ts): no need to tell anybody.
// V2 A put of up to PASSAGES_PER_COMMIT_MAX passages takes effect at once or not at all, a replacement too. More go in such
//    portions, in order: until the answer, a search may find some of the old ones beside some of the new.
// V3 A passage without a vector is found by its words. Vectors that are missing, or were made by another engine than the one
//    that is set, are made in the background from the text, which is kept for that; the old ones serve until all are there.
// V4 A filter never makes an answer worse: as many hits come as there are, the nearest first.
// V5 A search answers while an index is loaded or built, by comparing what is not indexed yet.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

export const vectorFaults = declareFaults({
  vectors_invalid: 'invalid',
  vectors_not_saved: 'unavailable',
  /** PASSAGES_WAITING_MAX. */
  vectors_full: 'unavailable',
});

/** The chunks of projects' documents: id `<document>#<revision>.<n>`, owned by the user's workspace. */
export const DOCUMENTS = 'documents';

export const COLLECTION_LENGTH_MAX = 64;
export const PASSAGE_ID_LENGTH_MAX = 300;
export const PASSAGE_LENGTH_MAX = 32_000;
export const LABEL_LENGTH_MAX = 100;
export const ENGINE_LENGTH_MAX = 300;
export const TAGS_MAX = 15;
/** Of a page each: filing their words takes the thread of the searches some 40 ms. */
export const PASSAGES_PER_COMMIT_MAX = 64;
/** Of one message: 20,000 chunks are a book shelf. */
export const PASSAGES_MAX = 20_000;
/** That wait to be filed; who brings more is asked to come again. */
export const PASSAGES_WAITING_MAX = 40_000;
export const HITS_MAX = 200;
export const FILTER_VALUES_MAX = 1_000;
export const QUERY_TEXT_LENGTH_MAX = 10_000;
/** What a rank is worth: 1 / (60 + rank). */
export const RANK_CONSTANT_DEFAULT = 60;

const Text = Type.String();
const Label = Type.String({ minLength: 1, maxLength: LABEL_LENGTH_MAX });
const Id = Type.String({ minLength: 1, maxLength: PASSAGE_ID_LENGTH_MAX });
const Collection = Type.String({ pattern: `^[a-z][a-z0-9_-]{0,${COLLECTION_LENGTH_MAX - 1}}$` });
const Vector = Type.Unsafe<Float32Array>({});

/** A vector, and the id of the engine that made it (`Embedded.engine`). It is brought to length one. */
export const MadeVector = Type.Object({
  engine: Type.String({ minLength: 1, maxLength: ENGINE_LENGTH_MAX }),
  vector: Vector,
});

export const NewPassage = Type.Object({
  id: Id,
  owner: Label,
  tags: Type.Optional(Type.Array(Label, { maxItems: TAGS_MAX })),
  text: Type.String({ maxLength: PASSAGE_LENGTH_MAX }),
  /** Absent: what it has stays if the text is the same; otherwise one is made in the background (V3). */
  embedding: Type.Optional(MadeVector),
});
export type NewPassage = Static<typeof NewPassage>;

/** One of the owners and one of the tags, where they are given. An empty list lets nothing through. */
const Filter = {
  owners: Type.Optional(Type.Array(Label, { maxItems: FILTER_VALUES_MAX })),
  tags: Type.Optional(Type.Array(Label, { maxItems: FILTER_VALUES_MAX })),
};
const Collections = Type.Array(Collection, { minItems: 1, maxItems: 8 });
const Count = Type.Integer({ minimum: 1, maximum: HITS_MAX });

export const Hit = Type.Object({
  collection: Text,
  id: Text,
  owner: Text,
  tags: Type.Array(Text),
  text: Text,
  /** Higher is better. Of `search` the cosine; of `hybrid` the sum of what its ranks are worth. */
  score: Type.Number(),
});
export type Hit = Static<typeof Hit>;

/** With the places, from 1, that it had in the list of those found by words, and of those found by meaning. */
export const HybridHit = Type.Object({
  ...Hit.properties,
  words_rank: Type.Union([Type.Integer(), Type.Null()]),
  meaning_rank: Type.Union([Type.Integer(), Type.Null()]),
});
export type HybridHit = Static<typeof HybridHit>;

export const vectors = protocol('vectors', {
  put: call({
    summary: 'Files passages; one that is there already is replaced.',
    request: Type.Object({
      collection: Collection,
      passages: Type.Array(NewPassage, { maxItems: PASSAGES_MAX }),
    }),
    reply: Type.Object({}),
    faults: vectorFaults,
  }),
  replace: call({
    summary: 'Files passages, and removes all others whose id begins with the prefix.',
    request: Type.Object({
      collection: Collection,
      prefix: Id,
      passages: Type.Array(NewPassage, { maxItems: PASSAGES_MAX }),
    }),
    reply: Type.Object({ removed: Type.Integer() }),
    faults: vectorFaults,
  }),
  delete: call({
    summary: 'Removes passages: the named ones, those whose id begins with the prefix, or those of an owner.',
    request: Type.Object({
      collection: Collection,
      ids: Type.Optional(Type.Array(Id, { maxItems: PASSAGES_MAX })),
      prefix: Type.Optional(Id),
      owner: Type.Optional(Label),
    }),
    reply: Type.Object({ removed: Type.Integer() }),
    faults: vectorFaults,
  }),
  search: call({
    summary: 'The passages whose vectors of one engine are nearest to a vector.',
    request: Type.Object({ collections: Collections, ...MadeVector.properties, k: Count, ...Filter }),
    reply: Type.Object({ hits: Type.Array(Hit) }),
    faults: vectorFaults,
  }),
  hybrid: call({
    summary: 'The passages that answer a text best, by their words and by their meaning.',
    request: Type.Object({
      collections: Collections,
      text: Text,
      /** The vector of the text, if the caller has it; otherwise it is made here. */
      embedding: Type.Optional(MadeVector),
      k: Count,
      ...Filter,
      words_weight: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 1 })),
      meaning_weight: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 1 })),
      rank_constant: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 1_000, default: RANK_CONSTANT_DEFAULT }),
      ),
    }),
    reply: Type.Object({
      hits: Type.Array(HybridHit),
      /** `words`: there were no vectors to ask, or no engine to ask them with; `note` says which. */
      by: Type.Union([Type.Literal('words_and_meaning'), Type.Literal('words')]),
      note: Type.Union([Text, Type.Null()]),
    }),
    faults: vectorFaults,
  }),
});

/** On the thread of the indexes: what the door passes on, checked, with the vectors that it takes. */
export interface PassageQuery {
  readonly collections: readonly string[];
  readonly k: number;
  readonly owners?: readonly string[];
  readonly tags?: readonly string[];
}

export interface HybridQuery extends PassageQuery {
  readonly text: string;
  /** Null: by the words alone. */
  readonly embedding: Static<typeof MadeVector> | null;
  readonly wordsWeight: number;
  readonly meaningWeight: number;
  readonly rankConstant: number;
}

export const passageIndex = protocol('passage-index', {
  put: call<
    { readonly collection: string; readonly prefix?: string; readonly passages: readonly NewPassage[] },
    { readonly removed: number }
  >({ faults: vectorFaults }),
  remove: call<
    {
      readonly collection: string;
      readonly ids?: readonly string[];
      readonly prefix?: string;
      readonly owner?: string;
    },
    { readonly removed: number }
  >({ faults: vectorFaults }),
  search: call<PassageQuery & Static<typeof MadeVector>, Hit[]>(),
  hybrid: call<HybridQuery, HybridHit[]>(),
});
