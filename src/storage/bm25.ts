// BM25: how well a document answers a term. Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond" (2009), section 3. Their inverse document frequency falls below zero for a term in more than half of the
// documents; adding one inside the logarithm keeps such a term worth a little instead of less than nothing.

/** How soon repeating a term stops paying. */
const K1 = 1.2;
/** How much length counts against a document, from 0 to 1. */
const B = 0.75;

export interface Collection {
  readonly documents: number;
  readonly tokens: number;
}

/** What finding a term is worth, by how few documents have it. */
export function rarity(documentsWithTerm: number, { documents }: Collection): number {
  return Math.log(1 + (documents - documentsWithTerm + 0.5) / (documentsWithTerm + 0.5));
}

/** The part of a term's worth that a document earns which has it `occurrences` times among its `length` tokens. */
export function saturation(occurrences: number, length: number, { documents, tokens }: Collection): number {
  const relativeLength = (length * documents) / tokens;
  return (occurrences * (K1 + 1)) / (occurrences + K1 * (1 - B + B * relativeLength));
}
