// Freest: which of several hosts a new actor goes to. Pure.
// The one with the fewest actors, unless it is short of memory or of time: then one that is not.

import type { ThreadHealth } from './wire.ts';

export interface HostLoad {
  readonly health: ThreadHealth | null;
  /** Placed there since that report. */
  readonly placedSince: number;
}

/** A host in this state gets new actors only when all are in it. */
const HEAP_STRAINED_SHARE = 0.7;
const LAG_STRAINED_MS = 250;

/** Null stands for a host that would have to be started: empty, but not to be had at once. */
export function freest<Host extends HostLoad>(hosts: readonly (Host | null)[], heapMaxBytes: number): number {
  let best = 0;
  for (let i = 1; i < hosts.length; i += 1) {
    if (isFreer(hosts[i] ?? null, hosts[best] ?? null, heapMaxBytes)) best = i;
  }
  return best;
}

function isFreer(host: HostLoad | null, other: HostLoad | null, heapMaxBytes: number): boolean {
  const strain = strainOf(host, heapMaxBytes) - strainOf(other, heapMaxBytes);
  if (strain !== 0) return strain < 0;
  const actors = actorsOn(host) - actorsOn(other);
  // Of two that are alike, the one that is there.
  return actors === 0 ? other === null && host !== null : actors < 0;
}

function strainOf(host: HostLoad | null, heapMaxBytes: number): 0 | 1 {
  if (host?.health == null) return 0;
  const { heapUsedBytes, loopLagMs } = host.health;
  return heapUsedBytes > heapMaxBytes * HEAP_STRAINED_SHARE || loopLagMs > LAG_STRAINED_MS ? 1 : 0;
}

function actorsOn(host: HostLoad | null): number {
  return host === null ? 0 : (host.health?.actors ?? 0) + host.placedSince;
}
