// Installation: the embeddings with what they need, on real threads, in a folder of their own. The rest of the service is left
// out, so that what is measured is theirs.

import { join } from 'node:path';
import { configActor } from '../../src/actors/config/actor.ts';
import { embeddingsActor } from '../../src/actors/embeddings/actor.ts';
import { BULK_DEADLINE_MS, embeddings, type Priority } from '../../src/actors/embeddings/protocol.ts';
import { providersActor } from '../../src/actors/providers/actor.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { child } from '../../src/supervisor/children.ts';
import { createActorSystem } from '../../src/supervisor/system.ts';

export interface Installation {
  readonly modelsFolder: string;
  embed(texts: readonly string[], priority: Priority): Promise<void>;
  /** Threads that are there. */
  threads(): number;
  stop(): Promise<void>;
}

/** On a new folder, or on one that `stop` has left. */
export async function openInstallation(
  settings: Readonly<Record<string, unknown>>,
  directory: string,
): Promise<Installation> {
  const modelsFolder = join(directory, 'models');
  const storage = await openStorage({ directory, primary: true });
  const operator = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`embeddings.${key}`, value]),
  );
  const configArgs = { environment: {}, keyFile: join(directory, 'settings.key'), operator };
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    threads: { spare: false },
    children: [
      child(configActor, configArgs, { id: 'config', name: true }),
      child(providersActor, { isExposed: false }, { id: 'providers', name: true }),
      child(embeddingsActor, { modelsFolder }, { id: 'embeddings', name: true }),
    ],
  });
  const ref = system.named(embeddings);
  for await (const { current, error } of ref.stream('engines', {})) {
    if (error !== null) throw new Error(error);
    if (current !== null) break;
  }
  return {
    modelsFolder,
    async embed(texts, priority) {
      const kind = priority === 'interactive' ? 'query' : 'passage';
      await ref.ask('embed', { texts, kind, priority }, { deadlineMs: BULK_DEADLINE_MS });
    },
    threads: () => system.threads().length,
    async stop() {
      await system.stop();
      await storage.close();
    },
  };
}
