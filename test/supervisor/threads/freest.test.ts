// Freest: which host a new actor goes to.

import { expect, test } from 'vitest';
import { freest, type HostLoad } from '../../../src/supervisor/threads/freest.ts';

const HEAP_MAX = 1_000;

function host(actors: number, load: Partial<{ heap: number; lagMs: number; placed: number }> = {}): HostLoad {
  const counters = { sent: 0, handled: 0, rejected: 0, deadLettered: 0, restarts: 0 };
  const health = {
    actors,
    heapUsedBytes: load.heap ?? 100,
    loopLagMs: load.lagMs ?? 10,
    counters,
    queued: 0,
  };
  return { health, placedSince: load.placed ?? 0 };
}

test.each<readonly [string, readonly (HostLoad | null)[], number]>([
  ['the one with the fewest actors', [host(3), host(1), host(2)], 1],
  ['counting those that were placed since its report', [host(3), host(1, { placed: 5 }), host(4)], 0],
  ['one that is not started, rather than one with actors', [host(1), null], 1],
  ['one that is there, rather than one that is not started', [null, host(0)], 1],
  ['one that has not reported yet, by what was placed there', [host(2), { health: null, placedSince: 1 }], 1],
  ['no host that is short of memory', [host(0, { heap: 800 }), host(9)], 1],
  ['no host that is late', [host(9), host(0, { lagMs: 900 })], 0],
  ['the better one of two that are strained', [host(9, { heap: 800 }), host(1, { lagMs: 900 })], 1],
])('takes %s', (_which, hosts, index) => {
  expect(freest(hosts, HEAP_MAX)).toBe(index);
});
