// Stage: the service, the model double and the crowd, each in a process of its own; what a measurement of load works with.
// G1 Leaves nothing: all three end when this process does, however it ends.

import { readFile } from 'node:fs/promises';
import { type BenchService, cpuSecondsOf, startService } from '../service.ts';
import { type Child, startChild } from './child.ts';
import type { CrowdDoor } from './crowd-process.ts';
import type { ModelDoubleDoor } from './model-double-process.ts';

export const MODEL = 'lmstudio:steady';

export interface Stage {
  readonly service: BenchService;
  readonly double: Child<ModelDoubleDoor>;
  readonly crowd: Child<CrowdDoor>;
  /** Seconds that each has used so far. */
  processorTime(): Promise<ProcessorTime>;
  close(): Promise<void>;
}

export interface ProcessorTime {
  readonly service: number;
  readonly double: number;
  readonly crowd: number;
}

/** Turns that are taken beside the ones that are held: nothing that is measured waits for a place. */
const HEADROOM_RUNS = 500;

/** For so many runs at once. */
export async function openStage(runs: number, nodeOptions: readonly string[]): Promise<Stage> {
  const double = startChild<ModelDoubleDoor>(new URL('./model-double-process.ts', import.meta.url));
  const crowd = startChild<CrowdDoor>(new URL('./crowd-process.ts', import.meta.url));
  const service = await startService({ LMSTUDIO_BASE_URL: await double.ask('baseUrl', null) }, nodeOptions);
  await configure(service.url, { runs: { live_max: runs + HEADROOM_RUNS } });
  await crowd.ask('enter', { url: service.url.href, model: MODEL });
  return {
    service,
    double,
    crowd,
    async processorTime() {
      const [ours, doubles, crowds] = await Promise.all(
        [service.pid, double.pid, crowd.pid].map((pid) => cpuSecondsOf(pid)),
      );
      return { service: ours ?? 0, double: doubles ?? 0, crowd: crowds ?? 0 };
    },
    async close() {
      // The streams first: a service that stops would wait for its runs.
      await double.stop();
      await service.stop();
      await crowd.stop();
    },
  };
}

async function configure(url: URL, settings: object): Promise<void> {
  const response = await fetch(new URL('/api/config/update', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  });
  if (!response.ok) throw new Error(`not configured: ${response.status} ${await response.text()}`);
}

/** Each run is a descriptor of the service and of the double, each reader one of the service and of the crowd. */
export async function assertDescriptors(runs: number, readers: number): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const soft = Number(/Max open files\s+(\d+)/.exec(limits)?.[1]);
  const wanted = runs + readers + 500;
  if (soft < wanted)
    throw new Error(`a process may open ${soft} descriptors, and ${wanted} are needed: ulimit -n`);
}
