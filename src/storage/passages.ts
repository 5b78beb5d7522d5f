// Passages: texts under ids, filed for their words in a full text and for their meaning in the vectors of one engine or more.
// A1 A passage, its words and its vectors change in one transaction, that of the row it was made from.
// A2 Its text is kept, so that whoever brings another engine can make its vectors without asking where the text came from.
// A3 A vector that a passage has was made from the text that it has.

import type { CommitQueue } from './commit-queue.ts';
import type {
  Embedding,
  EngineVectors,
  Passage,
  PassageFilter,
  PassageSelection,
  Passages,
  PassageText,
  TextHit,
  VectorIndex,
  VectorIndexOptions,
} from './contract.ts';
import type { Draft, View } from './draft.ts';
import { StoredFullText } from './full-text.ts';
import { StoredTable } from './table.ts';
import { FollowingIndex } from './vector-index.ts';
import { VectorSnapshot } from './vector-snapshot.ts';
import { StoredVectors } from './vectors.ts';

const COLLECTIONS = 'passage collections';
const DROPPED_PER_COMMIT = 500;

interface Row {
  readonly owner: string;
  readonly tags: readonly string[];
  readonly text: string;
  /** Those that have made a vector of it. */
  readonly engines: readonly string[];
}

export class StoredPassages implements Passages {
  readonly name: string;
  readonly #rows: StoredTable<Row, 'byOwner'>;
  readonly #words: StoredFullText;
  readonly #engines: StoredTable<true>;
  readonly #collections: StoredTable<true>;
  readonly #vectors = new Map<string, StoredVectors>();
  readonly #committed: View;
  readonly #queue: CommitQueue;
  readonly #directory: string;

  constructor(name: string, directory: string, committed: View, queue: CommitQueue) {
    this.name = name;
    this.#directory = directory;
    this.#committed = committed;
    this.#queue = queue;
    this.#rows = new StoredTable<Row, 'byOwner'>(
      { name: `passages ${name}`, indexes: { byOwner: ({ owner }, id) => [owner, id as string] } },
      committed,
    );
    this.#engines = new StoredTable<true>({ name: `passages ${name} engines` }, committed);
    this.#collections = collectionsTable(committed);
    this.#words = new StoredFullText(`passages ${name}`, committed);
  }

  get(id: string): PassageText | undefined {
    const row = this.#rows.get(id);
    return row === undefined ? undefined : { id, owner: row.owner, tags: row.tags, text: row.text };
  }

  ids(selection: PassageSelection = {}): Iterable<string> {
    return this.idsFrom(this.#committed, selection);
  }

  count(): number {
    return this.#rows.count();
  }

  isEmbedded(id: string, engine: string): boolean {
    return this.#vectorsOf(engine).has(this.#committed, id);
  }

  engines(): readonly EngineVectors[] {
    return Array.from(this.#engines.range(), ({ key }) => {
      const { dimensions, count } = this.#vectorsOf(key as string).figures(this.#committed);
      return { engine: key as string, dimensions, count };
    });
  }

  searchWords({
    text,
    limit,
    owners,
    tags,
  }: { readonly text: string; readonly limit: number } & PassageFilter): readonly TextHit[] {
    const where = { ...(owners && { owner: owners }), ...(tags && { tag: tags }) };
    return this.#words.search({ text, limit, where });
  }

  async dropVectors(engine: string): Promise<void> {
    const vectors = this.#vectorsOf(engine);
    for (let isDone = false; !isDone; ) {
      isDone = await this.#queue.write('committed', (draft) => {
        const ids = vectors.idsIn(draft, DROPPED_PER_COMMIT);
        for (const id of ids) {
          vectors.removeFrom(draft, id);
          this.#forgetEngineIn(draft, id, engine);
        }
        if (ids.length === 0) this.#engines.removeFrom(draft, engine);
        return ids.length === 0;
      });
    }
    await this.#snapshotOf(engine).forget();
  }

  openIndex(engine: string, options: VectorIndexOptions): VectorIndex {
    return new FollowingIndex({
      vectors: this.#vectorsOf(engine),
      committed: this.#committed,
      snapshot: this.#snapshotOf(engine),
      options,
    });
  }

  putInto(draft: Draft, { id, owner, tags = [], text, embedding }: Passage): void {
    if (!this.#collections.getFrom(draft, this.name)) this.#collections.putInto(draft, this.name, true);
    const before = this.#rows.getFrom(draft, id);
    const labels = { id, owner, tags };
    const kept: string[] = [];
    for (const engine of before?.engines ?? []) {
      const vectors = this.#vectorsOf(engine);
      if (engine === embedding?.engine) continue;
      if (before?.text !== text)
        vectors.removeFrom(draft, id); // A3
      else if (isFiledAs(before, labels) || vectors.relabelIn(draft, labels)) kept.push(engine);
    }
    if (embedding !== undefined) this.#putVector(draft, labels, embedding);
    if (before?.text !== text || !isFiledAs(before, labels)) {
      this.#words.indexInto(draft, { id, text, labels: { owner, tag: tags } });
    }
    const engines = embedding === undefined ? kept : [...kept, embedding.engine];
    this.#rows.putInto(draft, id, { owner, tags, text, engines });
  }

  embedIn(draft: Draft, id: string, text: string, embedding: Embedding): boolean {
    const row = this.#rows.getFrom(draft, id);
    if (row?.text !== text) return false;
    this.#putVector(draft, { id, owner: row.owner, tags: row.tags }, embedding);
    if (!row.engines.includes(embedding.engine)) {
      this.#rows.putInto(draft, id, { ...row, engines: [...row.engines, embedding.engine] });
    }
    return true;
  }

  removeFrom(draft: Draft, id: string): boolean {
    const row = this.#rows.getFrom(draft, id);
    if (row === undefined) return false;
    for (const engine of row.engines) this.#vectorsOf(engine).removeFrom(draft, id);
    this.#words.removeFrom(draft, id);
    return this.#rows.removeFrom(draft, id);
  }

  *idsFrom(view: View, { owner, prefix = '', after = '', limit }: PassageSelection): Iterable<string> {
    const from = after.startsWith(prefix) ? after : prefix;
    const keys =
      owner === undefined
        ? this.#rows.keysFrom(view, { start: from })
        : this.#rows.keysByFrom(view, 'byOwner', { prefix: owner, start: [owner, from] });
    let found = 0;
    for (const key of keys) {
      const id = key as string;
      if (!id.startsWith(prefix) || found === limit) return;
      if (id === after) continue;
      found += 1;
      yield id;
    }
  }

  #putVector(draft: Draft, labels: Labels, { engine, vector }: Embedding): void {
    if (!this.#engines.getFrom(draft, engine)) this.#engines.putInto(draft, engine, true);
    this.#vectorsOf(engine).putInto(draft, labels, vector);
  }

  #forgetEngineIn(draft: Draft, id: string, engine: string): void {
    const row = this.#rows.getFrom(draft, id);
    if (row === undefined) return;
    this.#rows.putInto(draft, id, { ...row, engines: row.engines.filter((one) => one !== engine) });
  }

  #snapshotOf(engine: string): VectorSnapshot {
    return new VectorSnapshot(`${this.name} ${engine}`, this.#directory, this.#committed, this.#queue);
  }

  #vectorsOf(engine: string): StoredVectors {
    const known = this.#vectors.get(engine);
    if (known !== undefined) return known;
    const vectors = new StoredVectors(`${this.name} ${engine}`);
    this.#vectors.set(engine, vectors);
    return vectors;
  }
}

export function passageCollections(committed: View): readonly string[] {
  return Array.from(collectionsTable(committed).range(), ({ key }) => key as string);
}

function collectionsTable(committed: View): StoredTable<true> {
  return new StoredTable<true>({ name: COLLECTIONS }, committed);
}

interface Labels {
  readonly id: string;
  readonly owner: string;
  readonly tags: readonly string[];
}

function isFiledAs(row: Row | undefined, { owner, tags }: Labels): boolean {
  if (row?.owner !== owner || row.tags.length !== tags.length) return false;
  return row.tags.every((tag, index) => tag === tags[index]);
}
