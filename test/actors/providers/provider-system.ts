// The door to actor tests: the providers actor and a completions actor on a worker thread, on a real actor system, with
// settings that the test can change while they run.

import { config, type Settings } from '../../../src/actors/config/protocol.ts';
import { defaultSettings } from '../../../src/actors/config/settings.ts';
import { providersActor } from '../../../src/actors/providers/actor.ts';
import { completionsActor } from '../../../src/actors/providers/completions.ts';
import { completions, providers } from '../../../src/actors/providers/protocol.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { actor } from '../../../src/supervisor/actor.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import {
  type ProviderDouble,
  type ProviderDoubleOptions,
  startProviderDouble,
} from '../../support/provider-double.ts';

export interface ProviderSystem extends AsyncDisposable {
  readonly providers: Ref<typeof providers>;
  readonly completions: Ref<typeof completions>;
  /** Changes the settings from the next message on. */
  set(changes: Partial<Settings>): void;
  /** Starts a provider double that lives as long as the system. */
  double(options: ProviderDoubleOptions): Promise<ProviderDouble>;
  /** Lets time pass for the actors. */
  elapse(ms: number): void;
}

/** Holds the settings in memory, where the real actor has them from storage. */
const settingsHolder = actor({
  module: import.meta.url,
  exportName: 'settingsHolder',
  protocol: config,
  setup: (_context, read: () => Settings) => ({
    view: () => ({}),
    update: () => ({ status: 'ok', message: '', updated: [] }),
    settings: () => read(),
  }),
});

export async function openProviderSystem(settings: Partial<Settings> = {}): Promise<ProviderSystem> {
  let current: Settings = { ...defaultSettings, ...settings };
  let elapsedMs = 0;
  const doubles: ProviderDouble[] = [];
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + elapsedMs };
  const system = await createActorSystem({
    clock,
    threads: {},
    children: [
      child(settingsHolder, () => current, { id: 'config', name: true }),
      child(providersActor, undefined, { id: 'providers', name: true }),
      child(completionsActor, undefined, {
        id: 'completions',
        name: true,
        placement: { thread: 'run-host' },
      }),
    ],
  });
  return {
    providers: system.named(providers),
    completions: system.named(completions),
    set(changes) {
      current = { ...current, ...changes };
    },
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
