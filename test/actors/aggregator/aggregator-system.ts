// The door to actor tests: the aggregator actor and the real config actor on a real system, and the double of the aggregator
// over HTTP; time is moved by the test. All of it ends with the test.

import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { aggregatorActor } from '../../../src/actors/aggregator/actor.ts';
import { aggregator } from '../../../src/actors/aggregator/protocol.ts';
import { configActor } from '../../../src/actors/config/actor.ts';
import { config, type Settings } from '../../../src/actors/config/protocol.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import type { Log } from '../../../src/std/log.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { type AggregatorDouble, startAggregatorDouble } from '../../support/aggregator-double.ts';
import { openTemporaryStorage } from '../../support/storage.ts';

export interface AggregatorSystem {
  readonly aggregator: Ref<typeof aggregator>;
  readonly double: AggregatorDouble;
  /** All that was logged so far, fields and words. */
  logged(): string;
  set(values: Partial<Settings>): Promise<void>;
  settings(): Promise<Settings>;
  elapse(ms: number): void;
  /** The code that the owner's consent to a flow brings. */
  codeFor(authorizationUrl: string): string;
}

export const KEY = 'providers.openrouter.api_key';

export async function openAggregatorSystem(values: Partial<Settings> = {}): Promise<AggregatorSystem> {
  const double = await startAggregatorDouble();
  const data = await openTemporaryStorage();
  const lines: unknown[] = [];
  let elapsedMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + elapsedMs };
  const aggregatorArgs = {
    callbackBase: undefined,
    publicHost: undefined,
    servedAt: () => 'http://127.0.0.1:4000',
  };
  const configArgs = { environment: {}, keyFile: join(data.directory, 'secrets.key'), operator: {} };
  const system = await createActorSystem({
    clock,
    log: collector(lines),
    services: { storage: data.storage, version: '0.0.0' },
    children: [
      child(configActor, configArgs, { id: 'config', name: true }),
      child(aggregatorActor, aggregatorArgs, { id: 'aggregator', name: true }),
    ],
  });
  onTestFinished(async () => {
    await system.stop();
    await data.close();
    await double.stop();
  });
  const set = async (changes: Partial<Settings>): Promise<void> => {
    await system.named(config).ask('assign', changes);
  };
  await set({ 'providers.openrouter.base_url': double.baseUrl, ...values });
  return {
    aggregator: system.named(aggregator),
    double,
    logged: () => JSON.stringify(lines),
    set,
    settings: () => system.named(config).ask('settings', {}),
    elapse(ms) {
      elapsedMs += ms;
    },
    codeFor: (authorizationUrl) =>
      new URL(double.consent(authorizationUrl)).searchParams.get('code') as string,
  };
}

function collector(lines: unknown[]): Log {
  const keep = (fields: object, message: string): void => void lines.push({ ...fields, message });
  return { debug: keep, info: keep, warn: keep, error: keep, child: () => collector(lines) };
}
