// Health: how long the whole service takes to say how it is while an actor on its edge thread is flooded, and while none is.
// The client has a thread of its own: on the edge thread it would measure itself.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTroupe } from '../../src/troupe.ts';
import { type Flood, openFlooded } from './flooded.ts';
import { amount, type Contest, type Contestant, type Size } from './harness.ts';
import { openHealthClient } from './health-client.ts';

const MESSAGES = 5_000_000;
/** How long it is watched without a flood. */
const CALM_MS = 1_500;

export function question(size: Size): Contest[] {
  const flood: Flood = { messages: amount(MESSAGES, size), busyUs: 0 };
  const what = `/api/health beside ${flood.messages / 1e6} M messages on the edge thread`;
  return [
    {
      rows: [
        { key: 'p50', what: `${what}, p50`, unit: 'ms', moreIsBetter: false },
        { key: 'p99', what: `${what}, p99`, unit: 'ms', moreIsBetter: false, target: 20 },
      ],
      contestants: [service('Troupe, flooded', flood, size), service('Troupe, calm', null, size)],
    },
  ];
}

function service(name: string, flood: Flood | null, size: Size): Contestant {
  return {
    name,
    open: async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
      const troupe = await createTroupe({ dataDir, port: 0, runHosts: 1, logLevel: 'error' });
      const client = await openHealthClient(new URL('/api/health', troupe.url ?? undefined));
      const flooded = openFlooded(troupe.system);
      return {
        measure: async () => {
          client.start();
          if (flood === null) await new Promise((resolve) => setTimeout(resolve, amount(CALM_MS, size)));
          else await flooded.flood(flood);
          return client.stop();
        },
        close: async () => {
          await client.close();
          await troupe.stop();
          await rm(dataDir, { recursive: true, force: true });
        },
      };
    },
  };
}
