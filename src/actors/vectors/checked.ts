// Checked: what may be filed and asked for. Texts and ids come from documents and models; a store's keys and an index's vectors
// have their bounds.

import type { Static } from '../../std/schema.ts';
import {
  COLLECTION_LENGTH_MAX,
  ENGINE_LENGTH_MAX,
  FILTER_VALUES_MAX,
  LABEL_LENGTH_MAX,
  type MadeVector,
  type NewPassage,
  PASSAGE_ID_LENGTH_MAX,
  PASSAGE_LENGTH_MAX,
  TAGS_MAX,
  vectorFaults,
} from './protocol.ts';

const { vectors_invalid: invalid } = vectorFaults;
const DIMENSIONS_MAX = 4_096;
const COLLECTION = new RegExp(`^[a-z][a-z0-9_-]{0,${COLLECTION_LENGTH_MAX - 1}}$`);

type Made = Static<typeof MadeVector>;

export function checkCollection(name: string): void {
  if (!COLLECTION.test(name)) throw invalid(`${name} is no name of a collection`);
}

export function checkId(id: string): void {
  if (!isText(id, PASSAGE_ID_LENGTH_MAX)) throw invalid('the id of a passage is empty, too long or damaged');
}

export function checkLabel(label: string): void {
  if (!isText(label, LABEL_LENGTH_MAX)) throw invalid('an owner or a tag is empty, too long or damaged');
}

export function checkFilter({
  owners = [],
  tags = [],
}: {
  readonly owners?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
}): void {
  if (Math.max(owners.length, tags.length) > FILTER_VALUES_MAX)
    throw invalid('the filter has too many values');
}

/** With vectors of length one. */
export function checkedPassage(passage: NewPassage): NewPassage {
  const { id, owner, tags = [], text, embedding } = passage;
  checkId(id);
  checkLabel(owner);
  if (tags.length > TAGS_MAX) throw invalid(`a passage has at most ${TAGS_MAX} tags`);
  tags.forEach(checkLabel);
  if (text.length > PASSAGE_LENGTH_MAX)
    throw invalid(`a passage has at most ${PASSAGE_LENGTH_MAX} characters`);
  return embedding === undefined ? passage : { ...passage, embedding: checkedVector(embedding) };
}

export function checkedVector({ engine, vector }: Made): Made {
  if (!isText(engine, ENGINE_LENGTH_MAX)) throw invalid('a vector names the engine that made it');
  if (vector.length === 0 || vector.length > DIMENSIONS_MAX)
    throw invalid(`a vector has 1 to ${DIMENSIONS_MAX} dimensions`);
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!Number.isFinite(squares)) throw invalid('a vector has finite members');
  const length = Math.sqrt(squares);
  // One that is all zeros has no direction: it is as near to all others.
  if (length === 0 || Math.abs(length - 1) < 1e-6) return { engine, vector };
  return { engine, vector: vector.map((value) => value / length) };
}

function isText(text: string, lengthMax: number): boolean {
  return text.length > 0 && text.length <= lengthMax && text.isWellFormed();
}
