// EmbeddingPieces: a list of vectors as OpenAI words it, as pieces of JSON. A vector in numbers is some ten kilobytes of text.

import type { EmbeddingList } from '../actors/embeddings/protocol.ts';

/** About a millisecond's work. */
const VECTORS_PER_PIECE = 8;

export function* embeddingPieces({ data, object, model, usage }: EmbeddingList): Iterable<string> {
  yield `{"object":${JSON.stringify(object)},"data":[`;
  for (let from = 0; from < data.length; from += VECTORS_PER_PIECE) {
    const entries = data.slice(from, from + VECTORS_PER_PIECE).map((entry) => {
      const { embedding } = entry;
      return JSON.stringify({
        ...entry,
        embedding: typeof embedding === 'string' ? embedding : Array.from(embedding),
      });
    });
    yield `${from === 0 ? '' : ','}${entries.join(',')}`;
  }
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`;
}
