// Embedders that fail: the real one, but for a text that ends its thread, and one whose models in folders work no text. By module
// and name, for the threads of a test.

import { embedderActor } from '../../src/actors/embeddings/embedder.ts';
import { embeddingFaults } from '../../src/actors/embeddings/protocol.ts';
import { actor } from '../../src/supervisor/actor.ts';

export const POISON = 'a text that ends its thread';

/** `fail` sees each order before the real one works it. A folder's model is opened and inspected like any other. */
function embedderThat(
  exportName: string,
  fail: (order: { readonly texts: readonly string[]; readonly source: { readonly kind: string } }) => void,
) {
  return actor({
    ...embedderActor,
    module: import.meta.url,
    exportName,
    async setup(context, args: Parameters<typeof embedderActor.setup>[1]) {
      const handlers = await embedderActor.setup(context, args);
      if (!('embed' in handlers)) throw new Error('the embedder answers by itself');
      return {
        ...handlers,
        embed(order, inquiry) {
          fail(order);
          return handlers.embed(order, inquiry);
        },
      };
    },
  });
}

export const frailEmbedder = embedderThat('frailEmbedder', ({ texts }) => {
  if (texts.includes(POISON)) process.exit(1);
});

export const fussyEmbedder = embedderThat('fussyEmbedder', ({ source }) => {
  if (source.kind === 'folder') throw embeddingFaults.text_unworkable('not this one');
});
