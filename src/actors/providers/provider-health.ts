// Provider health: which providers lately failed. Owned by the providers actor; routing asks it.
// H1 A provider that fails is left alone for a while, longer each time in a row, up to a bound.
// H2 When the while is over, one turn tries it: the others leave it alone until that one has told how it went, or has had
//    its time. A success forgets everything.
// H3 What fails during a cool-down was begun before it, and says nothing new; but a wait that the provider names counts.

import type { Clock } from '../../std/clock.ts';

/** Long enough not to pay for a dead provider with every turn, short enough to notice its return. */
export const COOL_DOWN_FIRST_MS = 30_000;
export const COOL_DOWN_MAX_MS = 10 * 60_000;
/** A turn that tries a provider and never tells is not waited for. */
const PROBE_MS_MAX = 60_000;

export interface ProviderHealth {
  isHealthy(provider: string): boolean;
  /** A turn is sent to the provider. H2 */
  sent(provider: string): void;
  met(provider: string, outcome: Outcome): void;
  forget(provider: string): void;
}

export interface Outcome {
  readonly healthy: boolean;
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
}

interface Trouble {
  /** In a row. */
  readonly failures: number;
  readonly coolUntilMs: number;
  readonly probeUntilMs: number;
}

export function createProviderHealth(clock: Clock): ProviderHealth {
  const troubles = new Map<string, Trouble>();
  return {
    isHealthy(provider) {
      const trouble = troubles.get(provider);
      if (trouble === undefined) return true;
      return clock.monotonicMs() >= Math.max(trouble.coolUntilMs, trouble.probeUntilMs);
    },
    sent(provider) {
      const trouble = troubles.get(provider);
      const nowMs = clock.monotonicMs();
      if (trouble === undefined || nowMs < trouble.coolUntilMs) return;
      troubles.set(provider, { ...trouble, probeUntilMs: nowMs + PROBE_MS_MAX });
    },
    met(provider, { healthy, retryAfterMs = 0 }) {
      if (healthy) {
        troubles.delete(provider);
        return;
      }
      const nowMs = clock.monotonicMs();
      const trouble = troubles.get(provider);
      const asked = nowMs + Math.min(retryAfterMs, COOL_DOWN_MAX_MS);
      if (trouble !== undefined && nowMs < trouble.coolUntilMs) {
        troubles.set(provider, { ...trouble, coolUntilMs: Math.max(trouble.coolUntilMs, asked) }); // H3
        return;
      }
      const failures = (trouble?.failures ?? 0) + 1;
      const coolMs = Math.min(COOL_DOWN_FIRST_MS * 2 ** (failures - 1), COOL_DOWN_MAX_MS); // H1
      troubles.set(provider, { failures, coolUntilMs: Math.max(nowMs + coolMs, asked), probeUntilMs: 0 });
    },
    forget: (provider) => troubles.delete(provider),
  };
}
