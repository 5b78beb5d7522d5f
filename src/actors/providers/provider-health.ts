// Provider health: which providers lately failed. Owned by the providers actor; routing asks it.
// H1 A provider that fails is left alone for a while, longer each time in a row, up to a bound.
// H2 When the while is over, one turn tries it: the others leave it alone until that one has told how it went, or has had
//    its time. A success forgets everything.
// H3 What fails during a cool-down was begun before it, and says nothing new; but a wait that the provider names counts.
// H4 A provider that fails its turns may list its models all the while. So a list ends a cool-down only where one could not be had
//    since that began: then the provider was away, and is back.

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
  /** Its list of models could be had, or could not. H4 */
  listed(provider: string, isListed: boolean): void;
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
  /** Its list of models could not be had either. */
  readonly isAway: boolean;
}

export function createProviderHealth(clock: Clock): ProviderHealth {
  const troubles = new Map<string, Trouble>();
  const health: ProviderHealth = {
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
      const coolUntilMs = Math.max(nowMs + coolMs, asked);
      troubles.set(provider, { failures, coolUntilMs, probeUntilMs: 0, isAway: false });
    },
    listed(provider, isListed) {
      if (isListed) {
        if (troubles.get(provider)?.isAway === true) troubles.delete(provider);
        return;
      }
      health.met(provider, { healthy: false });
      const trouble = troubles.get(provider);
      if (trouble !== undefined) troubles.set(provider, { ...trouble, isAway: true });
    },
    forget: (provider) => troubles.delete(provider),
  };
  return health;
}
