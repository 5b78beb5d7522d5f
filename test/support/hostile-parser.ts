// Hostile parser: the real one, but for files that would make a worse one loop or eat memory. By module and name, for the
// threads of a test.

import { parserActor } from '../../src/actors/ingestion/parser.ts';
import { actor } from '../../src/supervisor/actor.ts';

const HARM: Readonly<Record<string, () => void>> = {
  'loops.md': () => {
    for (;;);
  },
  'hoards heap.md': () => {
    for (const kept: number[][] = []; ; ) kept.push(new Array<number>(2 ** 17).fill(kept.length + 0.5));
  },
};

export const hostileParser = actor({
  ...parserActor,
  module: import.meta.url,
  exportName: 'hostileParser',
  async setup(context, args: undefined) {
    const handlers = await parserActor.setup(context, args);
    if (!('parse' in handlers)) throw new Error('the parser answers by itself');
    return {
      ...handlers,
      async *parse(order, inquiry) {
        HARM[order.filename]?.();
        yield* handlers.parse(order, inquiry);
      },
    };
  },
});
