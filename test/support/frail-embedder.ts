// Embedders that fail: the real one, but for a text that ends its thread, and one whose models in folders work no text. By module
// and name, for the threads of a test.

import { embedderActor } from '../../src/actors/embeddings/embedder.ts';
import { embeddingFaults } from '../../src/actors/embeddings/protocol.ts';
import { actor } from '../../src/supervisor/actor.ts';

export const POISON = 'a text that ends its thread';

export const frailEmbedder = actor({
  ...embedderActor,
  module: import.meta.url,
  exportName: 'frailEmbedder',
  async setup(context, args: Parameters<typeof embedderActor.setup>[1]) {
    const handlers = await embedderActor.setup(context, args);
    if (!('embed' in handlers)) throw new Error('the embedder answers by itself');
    return {
      ...handlers,
      embed(order, inquiry) {
        if (order.texts.includes(POISON)) process.exit(1);
        return handlers.embed(order, inquiry);
      },
    };
  },
});

/** A folder's model is opened and inspected like any other. */
export const fussyEmbedder = actor({
  ...embedderActor,
  module: import.meta.url,
  exportName: 'fussyEmbedder',
  async setup(context, args: Parameters<typeof embedderActor.setup>[1]) {
    const handlers = await embedderActor.setup(context, args);
    if (!('embed' in handlers)) throw new Error('the embedder answers by itself');
    return {
      ...handlers,
      embed(order, inquiry) {
        if (order.source.kind === 'folder') throw embeddingFaults.text_unworkable('not this one');
        return handlers.embed(order, inquiry);
      },
    };
  },
});
