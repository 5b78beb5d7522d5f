// Account: what the aggregator says about a key and its credits, and how long that is believed.
// C1 One answer is good for a minute, for the key and the address that it was asked with.
// C2 Whoever asks meanwhile waits for the same answer. A failure is not kept.

import type { Clock } from '../../std/clock.ts';
import type { ReplyFrom } from '../../supervisor/protocol.ts';
import { type aggregator, aggregatorFaults } from './protocol.ts';
import { dataOf, type Upstream, type UpstreamAccess } from './upstream.ts';

export type Account = ReplyFrom<typeof aggregator, 'account'>;

const FRESH_MS = 60_000;
const UNAVAILABLE: Account = { available: false };

/** @throws aggregator_failed */
export async function readAccount(upstream: Upstream, access: UpstreamAccess): Promise<Account> {
  if (access.apiKey === null) return UNAVAILABLE;
  const [key, credits] = await Promise.all([upstream.get(access, '/key'), upstream.get(access, '/credits')]);
  if (key.kind === 'refused' && (key.status === 401 || key.status === 403)) return UNAVAILABLE;
  const data = dataOf(key);
  if (data === null)
    throw aggregatorFaults.aggregator_failed('The aggregator did not tell about the account');
  // Not every key may see the credits of its account: what it may see is told all the same.
  const totals = dataOf(credits) ?? {};
  return {
    available: true,
    label: textOf(data['label']),
    limit: numberOf(data['limit']),
    limit_remaining: numberOf(data['limit_remaining']),
    limit_reset: textOf(data['limit_reset']),
    usage: numberOf(data['usage']),
    usage_daily: numberOf(data['usage_daily']),
    usage_monthly: numberOf(data['usage_monthly']),
    is_free_tier: data['is_free_tier'] === true,
    expires_at: textOf(data['expires_at']),
    total_credits: numberOf(totals['total_credits']),
    total_usage: numberOf(totals['total_usage']),
  };
}

export interface AccountCache {
  get(access: UpstreamAccess): Promise<Account>;
  clear(): void;
}

interface Entry {
  readonly access: UpstreamAccess;
  readonly account: Promise<Account>;
  readonly askedAtMs: number;
}

export function createAccountCache(upstream: Upstream, clock: Clock): AccountCache {
  let entry: Entry | null = null;
  const isGood = (known: Entry, { baseUrl, apiKey }: UpstreamAccess): boolean =>
    known.access.baseUrl === baseUrl &&
    known.access.apiKey === apiKey &&
    clock.monotonicMs() - known.askedAtMs < FRESH_MS;
  return {
    get(access) {
      if (entry !== null && isGood(entry, access)) return entry.account; // C1, C2
      const asked: Entry = {
        access,
        account: readAccount(upstream, access),
        askedAtMs: clock.monotonicMs(),
      };
      entry = asked;
      asked.account.catch(() => {
        if (entry === asked) entry = null;
      });
      return asked.account;
    },
    clear() {
      entry = null;
    },
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
