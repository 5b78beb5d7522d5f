// The door to actor tests: the providers actor and a completions actor (where asked on a run host) on a real system, with
// the real config actor whose settings the test changes while they run.

import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { configActor } from '../../../src/actors/config/actor.ts';
import { config, type Settings } from '../../../src/actors/config/protocol.ts';
import { providersActor } from '../../../src/actors/providers/actor.ts';
import { completionsActor } from '../../../src/actors/providers/completions.ts';
import { completions, providers } from '../../../src/actors/providers/protocol.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import {
  type ProviderDouble,
  type ProviderDoubleOptions,
  startProviderDouble,
} from '../../support/provider-double.ts';
import { openTemporaryStorage } from '../../support/storage.ts';

export interface ProviderSystem extends AsyncDisposable {
  readonly providers: Ref<typeof providers>;
  readonly completions: Ref<typeof completions>;
  /** Changes the settings. */
  set(changes: Partial<Settings>): Promise<void>;
  /** Starts a provider double that lives as long as the system. */
  double(options: ProviderDoubleOptions): Promise<ProviderDouble>;
  /** Lets time pass for the actors. */
  elapse(ms: number): void;
}

export interface SystemOptions {
  /** A worker thread for the completions actor; without it everything runs here, which starts faster. */
  readonly runHost?: boolean;
  readonly isExposed?: boolean;
  /** How the providers actor resolves names. */
  readonly lookup?: LookupFunction;
}

export async function openProviderSystem(
  settings: Partial<Settings> = {},
  { runHost = false, isExposed = false, lookup }: SystemOptions = {},
): Promise<ProviderSystem> {
  const data = await openTemporaryStorage();
  let elapsedMs = 0;
  const doubles: ProviderDouble[] = [];
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + elapsedMs };
  const configArgs = {
    environment: {},
    keyFile: join(data.directory, 'secrets.key'),
    operator: {},
  };
  const system = await createActorSystem({
    clock,
    services: { storage: data.storage, version: '0.0.0' },
    ...(runHost ? { threads: {} } : {}),
    children: [
      child(configActor, configArgs, { id: 'config', name: true }),
      child(
        providersActor,
        { isExposed, ...(lookup === undefined ? {} : { lookup }) },
        { id: 'providers', name: true },
      ),
      child(completionsActor, undefined, {
        id: 'completions',
        name: true,
        placement: { thread: 'run-host' },
      }),
    ],
  });
  const set = async (changes: Partial<Settings>): Promise<void> => {
    await system.named(config).ask('update', treeOf(changes));
  };
  await set(settings);
  return {
    set,
    providers: system.named(providers),
    completions: system.named(completions),
    async double(options) {
      const double = await startProviderDouble(options);
      doubles.push(double);
      return double;
    },
    elapse(ms) {
      elapsedMs += ms;
    },
    async [Symbol.asyncDispose]() {
      await system.stop();
      await data.close();
      await Promise.all(doubles.map((double) => double.stop()));
    },
  };
}

export const openaiAt = (double: ProviderDouble): Partial<Settings> => ({
  'providers.openai.api_key': 'sk-double-0123456789',
  'providers.openai.base_url': double.baseUrl,
});

export const anthropicAt = (double: ProviderDouble): Partial<Settings> => ({
  'providers.anthropic.api_key': 'sk-ant-double-0123456789',
  'providers.anthropic.base_url': double.baseUrl,
});

export const lmstudioAt = (double: ProviderDouble): Partial<Settings> => ({
  'providers.lmstudio.base_url': `http://127.0.0.1:${double.port}`,
});

/** `{ 'providers.openai.api_key': … }` as the tree that the config actor takes. */
function treeOf(changes: Partial<Settings>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(changes)) {
    const sections = key.split('.');
    const leaf = sections.pop() as string;
    let section = tree;
    for (const name of sections) {
      section[name] ??= {};
      section = section[name] as Record<string, unknown>;
    }
    section[leaf] = value;
  }
  return tree;
}
