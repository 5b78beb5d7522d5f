// Full text: an inverted index over the texts that a table's rows carry, ranked by BM25.
// F1 A text is filed and removed in the transaction of its row; the collection's figures are always exact.
// F2 A text that is filed again gets a new number, and nothing of its old form is found any more.
// F3 Labels are filed as terms of their own, so that a narrow filter does not look at every document.
// F4 Of equal scores the one that was filed last comes first.

import { assert } from '../std/assert.ts';
import { type Collection, rarity, saturation } from './bm25.ts';
import { decodeValue, encodeValue } from './codec.ts';
import type { FullText, TextDocument, TextHit, TextQuery } from './contract.ts';
import type { Draft, View } from './draft.ts';
import { encodeKey, joinKey, SEPARATOR } from './key.ts';
import { Postings } from './postings.ts';
import { documentTokens, queryTokens } from './tokenizer.ts';

const LABELS_MAX = 16;
const NUMBER_MAX = 2 ** 32 - 1;

/** All that it takes to remove a document without its text. */
interface FiledDocument {
  readonly number: number;
  readonly length: number;
  readonly terms: readonly string[];
  readonly labels: readonly string[];
}

export class StoredFullText implements FullText {
  readonly name: string;
  readonly #collection: string;
  readonly #documents: Buffer;
  readonly #idsByNumber: Buffer;
  readonly #terms: Postings;
  readonly #labels: Postings;
  readonly #committed: View;

  constructor(name: string, committed: View) {
    this.name = name;
    this.#collection = `text ${name}`;
    const area = (part: string): Buffer => joinKey(encodeKey(['text', name, part]), SEPARATOR);
    this.#documents = area('documents');
    this.#idsByNumber = area('ids');
    this.#terms = new Postings(this.#collection, area('terms'));
    this.#labels = new Postings(this.#collection, area('labels'));
    this.#committed = committed;
  }

  documentCount(): number {
    return this.#figures(this.#committed).documents;
  }

  search({ text, limit, where = {} }: TextQuery): readonly TextHit[] {
    const view = this.#committed;
    const figures = this.#figures(view);
    const admitted = this.#admitted(view, where);
    const scores = new Map<number, number>();
    for (const term of queryTokens(text)) {
      const postings = this.#terms.of(view, term);
      const worth = rarity(postings.count, figures);
      postings.forEach((document, occurrences, length) => {
        if (admitted !== undefined && !admitted.has(document)) return;
        const score = worth * saturation(occurrences, length, figures);
        scores.set(document, (scores.get(document) ?? 0) + score);
      });
    }
    const hits: TextHit[] = [];
    for (const { document, score } of best(scores, limit)) {
      const id = view.get(this.#collection, this.#numberKey(document));
      // A document may be filed anew between reading its postings and here.
      if (id !== undefined) hits.push({ id: decodeValue<string>(id), score });
    }
    return hits;
  }

  indexInto(draft: Draft, { id, text, labels = {} }: TextDocument): void {
    this.removeFrom(draft, id);
    const tokens = documentTokens(text);
    const occurrences = countOf(tokens);
    const labelTerms = Object.entries(labels).flatMap(([label, values]) =>
      Array.from(new Set([values].flat()), (value) => labelTerm(label, value)),
    );
    assert(labelTerms.length <= LABELS_MAX, `a document has at most ${LABELS_MAX} labels`);

    const number = draft.totals(this.#collection).numbered ?? 0;
    assert(number <= NUMBER_MAX, 'a full text files at most 2^32 documents in its life');
    const posted = { document: number, length: tokens.length };
    for (const [term, count] of occurrences) this.#terms.add(draft, term, { ...posted, occurrences: count });
    for (const term of labelTerms) this.#labels.add(draft, term, { ...posted, occurrences: 1 });

    const filed: FiledDocument = {
      number,
      length: tokens.length,
      terms: [...occurrences.keys()],
      labels: labelTerms,
    };
    draft.put(this.#collection, this.#documentKey(id), encodeValue(filed));
    draft.put(this.#collection, this.#numberKey(number), encodeValue(id));
    draft.addToTotals(this.#collection, { documents: 1, tokens: tokens.length, numbered: 1 });
  }

  removeFrom(draft: Draft, id: string): void {
    const key = this.#documentKey(id);
    const bytes = draft.get(this.#collection, key);
    if (bytes === undefined) return;
    const { number, length, terms, labels } = decodeValue<FiledDocument>(bytes);
    for (const term of terms) this.#terms.remove(draft, term, number);
    for (const label of labels) this.#labels.remove(draft, label, number);
    draft.remove(this.#collection, key);
    draft.remove(this.#collection, this.#numberKey(number));
    draft.addToTotals(this.#collection, { documents: -1, tokens: -length });
  }

  #figures(view: View): Collection {
    const { documents = 0, tokens = 0 } = view.totals(this.#collection);
    return { documents, tokens };
  }

  /** F3. The documents that carry one of the values for every label; undefined admits all. */
  #admitted(view: View, where: NonNullable<TextQuery['where']>): ReadonlySet<number> | undefined {
    let admitted: Set<number> | undefined;
    for (const [label, values] of Object.entries(where)) {
      const carriers = new Set<number>();
      for (const value of values) {
        const before = admitted;
        this.#labels.of(view, labelTerm(label, value)).forEach((document) => {
          if (before === undefined || before.has(document)) carriers.add(document);
        });
      }
      admitted = carriers;
    }
    return admitted;
  }

  #documentKey(id: string): Buffer {
    return joinKey(this.#documents, encodeKey(id));
  }

  #numberKey(number: number): Buffer {
    return joinKey(this.#idsByNumber, encodeKey(number));
  }
}

interface Scored {
  readonly document: number;
  readonly score: number;
}

/** The first `limit` in the order of F4. Few are asked for and many are scored: sorting all would be the dear part. */
function best(scores: ReadonlyMap<number, number>, limit: number): readonly Scored[] {
  const kept: Scored[] = [];
  for (const [document, score] of scores) {
    const candidate = { document, score };
    if (kept.length >= limit && !isBetter(candidate, kept[limit - 1])) continue;
    let place = kept.length;
    while (place > 0 && isBetter(candidate, kept[place - 1])) place -= 1;
    kept.splice(place, 0, candidate);
    if (kept.length > limit) kept.pop();
  }
  return kept;
}

function isBetter(a: Scored, b: Scored | undefined): boolean {
  if (b === undefined) return false;
  return a.score > b.score || (a.score === b.score && a.document > b.document);
}

function countOf(tokens: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

/** The length of the name in front keeps `a: "b=c"` apart from `a=b: "c"`. */
function labelTerm(label: string, value: string): string {
  return `${label.length}:${label}=${value}`;
}
