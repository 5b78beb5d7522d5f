// Vectors for tests: the actors of passages on a real storage, the indexes on a thread of their own as in the service; and
// vectors that a seed decides.

import { onTestFinished } from 'vitest';
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
}

export async function openVectors(): Promise<VectorsSystem> {
  const folder = await openTemporaryStorage();
  const { directory, storage } = folder;
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    threads: {
      spare: false,
      bootstrap: {
        module: new URL('../../src/boot-thread.ts', import.meta.url).href,
        data: { dataDir: directory, version: '0.0.0' },
      },
    },
    children: [child(vectorsActor, undefined, { id: 'vectors', name: true })],
  });
  onTestFinished(async () => {
    await system.stop();
    await folder.close();
  });
  return { directory, storage, system, vectors: system.named(vectors) };
}
