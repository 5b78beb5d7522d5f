// The door of these tests: the embeddings actor with config and providers on a real system, with real threads and real storage
// in a folder of its own; all of it ends with the test.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { configActor } from '../../../src/actors/config/actor.ts';
import { readOperatorFile } from '../../../src/actors/config/operator-file.ts';
import { config } from '../../../src/actors/config/protocol.ts';
import { type EmbeddingsArguments, embeddingsActor } from '../../../src/actors/embeddings/actor.ts';
import {
  type EmbedRequest,
  type EngineStatus,
  embeddings,
  type Priority,
} from '../../../src/actors/embeddings/protocol.ts';
import { providersActor } from '../../../src/actors/providers/actor.ts';
import { usageActor } from '../../../src/actors/usage/actor.ts';
import type { Storage } from '../../../src/storage/contract.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { AskOptions } from '../../../src/supervisor/protocol.ts';
import { type ActorSystem, createActorSystem } from '../../../src/supervisor/system.ts';
import { openTemporaryStorage } from '../../support/storage.ts';

export interface EmbeddingsOptions {
  readonly embedder?: EmbeddingsArguments['embedder'];
  /** `embeddings.…` and others, as the operator sets them. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** What gives secrets their first value. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Changes what the actors see of the storage. */
  readonly storage?: (storage: Storage) => Storage;
}

export interface EmbeddingsSystem {
  readonly system: ActorSystem;
  readonly directory: string;
  readonly modelsFolder: string;
  embed(texts: readonly string[], options?: Partial<EmbedRequest> & AskOptions): Promise<Float32Array[]>;
  status(): Promise<EngineStatus>;
  /** As a client sets them: `{ embeddings: { threads: 1 } }`. */
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Resolves with the first status that fits. */
  until(fits: (status: EngineStatus) => boolean): Promise<EngineStatus>;
  /** How many texts wait for a thread. */
  waiting(): Promise<Record<Priority, number>>;
  /** How many embedders have a thread. */
  threads(): Promise<number>;
  /** Stops it all and starts it again on the same folder. */
  restart(options?: EmbeddingsOptions): Promise<EmbeddingsSystem>;
}

/** A cold thread on a busy machine loads a native library. */
export const PATIENT_MS = 60_000;

export async function openEmbeddings(options: EmbeddingsOptions = {}): Promise<EmbeddingsSystem> {
  const folder = await openTemporaryStorage();
  onTestFinished(() => folder.close());
  return openOn(folder, options);
}

async function openOn(
  folder: Awaited<ReturnType<typeof openTemporaryStorage>>,
  options: EmbeddingsOptions,
): Promise<EmbeddingsSystem> {
  const { directory, storage } = folder;
  const file = join(directory, 'settings.json');
  if (options.settings !== undefined) await writeFile(file, JSON.stringify(options.settings));
  const modelsFolder = join(directory, 'models');
  const embedder = options.embedder === undefined ? {} : { embedder: options.embedder };
  const system = await createActorSystem({
    services: { storage: options.storage?.(storage) ?? storage, version: '0.0.0' },
    threads: { spare: false, stuckMs: 1e9 },
    children: [
      child(
        configActor,
        {
          environment: options.environment ?? {},
          keyFile: join(directory, 'settings.key'),
          operator: await readOperatorFile(file),
        },
        { id: 'config', name: true },
      ),
      child(providersActor, { isExposed: false }, { id: 'providers', name: true }),
      child(usageActor, undefined, { id: 'usage', name: true }),
      child(embeddingsActor, { modelsFolder, ...embedder }, { id: 'embeddings', name: true }),
    ],
  });
  onTestFinished(() => system.stop());
  const ref = system.named(embeddings);
  const look = async () =>
    (await system.introspection.getState('embeddings')) as {
      readonly waiting: Record<Priority, number>;
      readonly threads: readonly unknown[];
    };
  const opened: EmbeddingsSystem = {
    system,
    directory,
    modelsFolder,
    async embed(texts, { deadlineMs = PATIENT_MS, signal, ...request } = {}) {
      const asked = { texts, kind: 'passage', priority: 'interactive', ...request } as const;
      const { vectors } = await ref.ask('embed', asked, {
        deadlineMs,
        ...(signal === undefined ? {} : { signal }),
      });
      return [...vectors];
    },
    status: () => ref.ask('engine', {}),
    async configure(settings) {
      await system.named(config).ask('update', settings);
    },
    async until(fits) {
      for await (const status of ref.stream('engines', {})) if (fits(status)) return status;
      throw new Error('the engine was never as it should be');
    },
    waiting: async () => (await look()).waiting,
    threads: async () => (await look()).threads.length,
    async restart(changed = options) {
      await system.stop();
      return openOn(folder, changed);
    },
  };
  await opened.until(({ current, error }) => current !== null || error !== null);
  return opened;
}

export function cosine(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
