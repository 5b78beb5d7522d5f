// Embedder actor: the only one on its thread, which ends with it. Promises D1 to D4 stand in embedder-protocol.ts.

import { unreachable } from '../../std/assert.ts';
import { afterTurn } from '../../std/event-loop.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { providers } from '../providers/protocol.ts';
import { type EmbedOrder, type EmbedResult, embedder, embedderFaults } from './embedder-protocol.ts';
import type { EngineSource } from './engine-source.ts';
import { Expense } from './expense.ts';
import { openFolderEngine } from './folder-engine.ts';
import { openLexicalEngine } from './lexical-engine.ts';
import type { Model } from './model.ts';
import { OpenModels } from './open-models.ts';
import { embeddingFaults } from './protocol.ts';
import { openRemoteEngine } from './remote-engine.ts';
import { Slices } from './slices.ts';

export interface EmbedderArguments {
  /** Where the built-in model lies. */
  readonly modelsFolder: string;
  /** That one run may use. */
  readonly threads: number;
}

export const embedderActor = actor({
  module: import.meta.url,
  exportName: 'embedderActor',
  protocol: embedder,
  setup(context: ActorContext<typeof embedder>, { modelsFolder, threads }: EmbedderArguments) {
    const { clock, random } = context;
    const slices = new Slices(clock, afterTurn);
    const models = new OpenModels(open);
    context.onStop(() => models.close());

    return {
      async inspect(source) {
        await models.forget(source);
        return models.use(source, async ({ facts }) => facts);
      },

      embed: (order, { signal }) =>
        models.use(order.source, async (model) => {
          await assertSame(model, order);
          return embedded(model, order, signal);
        }),
    };

    function open(source: EngineSource): Promise<Model> {
      switch (source.kind) {
        case 'builtin':
          return openLexicalEngine(modelsFolder, threads, random);
        case 'folder':
          return openFolderEngine(source, threads);
        case 'remote': {
          const { provider, model } = source;
          return openRemoteEngine(source, {
            clock,
            connection: () => context.ask(providers, 'connection', { provider, model }),
            expense: (orderId, price) => new Expense(context, orderId, model, price),
          });
        }
        default:
          return unreachable(source);
      }
    }

    async function embedded(
      model: Model,
      { id, texts, kind, priority }: EmbedOrder,
      signal: AbortSignal,
    ): Promise<EmbedResult> {
      const made = model.isComputedHere
        ? await slices.run(model, { texts, kind, priority, signal })
        : { ...(await model.run(texts, kind, signal, id)), busyMs: 0 };
      if (!made.vectors.every(Number.isFinite))
        throw embeddingFaults.text_unworkable(`${model.facts.model} makes no vector of this text`); // D4
      return made;
    }

    /** D3. */
    async function assertSame({ facts }: Model, { source, digest }: EmbedOrder): Promise<void> {
      if (facts.digest === digest) return;
      await models.forget(source);
      throw embedderFaults.engine_changed(
        `the files of ${facts.model} are not those that its vectors were made with`,
      );
    }
  },
});
