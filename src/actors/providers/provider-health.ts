// Provider health: which providers lately failed. A failing one is not asked first until its cool-down is over.

import type { Clock } from '../../std/clock.ts';

/** Long enough not to pay for a dead provider with every turn, short enough to notice its return. */
export const COOL_DOWN_MS = 30_000;

export interface ProviderHealth {
  isHealthy(provider: string): boolean;
  met(provider: string, healthy: boolean): void;
  forget(provider: string): void;
}

export function createProviderHealth(clock: Clock): ProviderHealth {
  const coolUntilMs = new Map<string, number>();
  return {
    isHealthy: (provider) => clock.monotonicMs() >= (coolUntilMs.get(provider) ?? Number.NEGATIVE_INFINITY),
    met(provider, healthy) {
      if (healthy) coolUntilMs.delete(provider);
      else coolUntilMs.set(provider, clock.monotonicMs() + COOL_DOWN_MS);
    },
    forget: (provider) => coolUntilMs.delete(provider),
  };
}
