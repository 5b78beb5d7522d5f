// Vectors for tests: the actors of passages, with the engine that makes the vectors, on a real storage; the indexes and the engine
// on threads of their own as in the service. All of it ends with the test.

import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { configActor } from '../../src/actors/config/actor.ts';
import { config } from '../../src/actors/config/protocol.ts';
import { type EmbeddingsArguments, embeddingsActor } from '../../src/actors/embeddings/actor.ts';
import { type EngineStatus, embeddings } from '../../src/actors/embeddings/protocol.ts';
import { providersActor } from '../../src/actors/providers/actor.ts';
import { vectorsActor } from '../../src/actors/vectors/actor.ts';
import { vectors } from '../../src/actors/vectors/protocol.ts';
import type { Storage } from '../../src/storage/contract.ts';
import { child } from '../../src/supervisor/children.ts';
import type { Ref } from '../../src/supervisor/protocol.ts';
import { type ActorSystem, createActorSystem } from '../../src/supervisor/system.ts';
import { openTemporaryStorage } from './storage.ts';

export interface VectorsSystem {
  readonly directory: string;
  readonly storage: Storage;
  readonly system: ActorSystem;
  readonly vectors: Ref<typeof vectors>;
  readonly embeddings: Ref<typeof embeddings>;
  /** As a client sets them: `{ embeddings: { dimensions: 128 } }`. */
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Resolves with the first status that fits. */
  engines(fits: (status: EngineStatus) => boolean): Promise<EngineStatus>;
  /** Stops it all and starts it again on the same folder. */
  restart(): Promise<VectorsSystem>;
}

export interface VectorsOptions {
  /** Without one there are the vectors that a test brings along, and words. */
  readonly withEngine?: boolean;
  readonly embedder?: EmbeddingsArguments['embedder'];
}

export async function openVectors(options: VectorsOptions = {}): Promise<VectorsSystem> {
  const { close, ...opened } = await startVectors(options);
  onTestFinished(close);
  return opened;
}

/** For the tests of a whole file; whoever starts it closes it. */
export async function startVectors(
  options: VectorsOptions = {},
): Promise<VectorsSystem & { close(): Promise<void> }> {
  const folder = await openTemporaryStorage();
  const stops: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops) await stop();
    await folder.close();
  };
  return { ...(await openOn(folder, options, stops)), close };
}

async function openOn(
  folder: Awaited<ReturnType<typeof openTemporaryStorage>>,
  options: VectorsOptions,
  stops: (() => Promise<void>)[],
): Promise<VectorsSystem> {
  const { directory, storage } = folder;
  const embedder = options.embedder === undefined ? {} : { embedder: options.embedder };
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    threads: {
      spare: false,
      stuckMs: 1e9,
      bootstrap: {
        module: new URL('../../src/boot-thread.ts', import.meta.url).href,
        data: { dataDir: directory, version: '0.0.0' },
      },
    },
    children: [
      child(
        configActor,
        { environment: {}, keyFile: join(directory, 'settings.key'), operator: {} },
        { id: 'config', name: true },
      ),
      ...(options.withEngine
        ? [
            child(providersActor, { isExposed: false }, { id: 'providers', name: true }),
            child(
              embeddingsActor,
              { modelsFolder: join(directory, 'models'), ...embedder },
              { id: 'embeddings', name: true },
            ),
          ]
        : []),
      child(vectorsActor, undefined, { id: 'vectors', name: true }),
    ],
  });
  stops.push(() => system.stop());
  return {
    directory,
    storage,
    system,
    vectors: system.named(vectors),
    embeddings: system.named(embeddings),
    async configure(settings) {
      await system.named(config).ask('update', settings);
    },
    async engines(fits) {
      for await (const status of system.named(embeddings).stream('engines', {}))
        if (fits(status)) return status;
      throw new Error('the engines were never as they should be');
    },
    async restart() {
      await system.stop();
      return openOn(folder, options, stops);
    },
  };
}
