// HealthWatch: asks for /api/health at a steady pace, whether the last answer has come or not, so that a service which does not
// answer for a while is asked all the while. In a process of its own.

import { Agent, get } from 'node:http';
import { serve } from '../load/child.ts';
import { quantile } from '../report.ts';

const PACE_MS = 10;
const agent = new Agent({ keepAlive: true });

export interface HealthFigures {
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** How late this process was in asking, which counts against nobody. */
  readonly latenessP99: number;
}

let timer: NodeJS.Timeout | null = null;
let open = new Set<Promise<void>>();
let times: number[] = [];
let lateness: number[] = [];

const door = {
  watch({ url }: { readonly url: string }) {
    [open, times, lateness] = [new Set(), [], []];
    let dueMs = performance.now() + PACE_MS;
    timer = setInterval(() => {
      const nowMs = performance.now();
      lateness.push(Math.max(0, nowMs - dueMs));
      dueMs = Math.max(dueMs + PACE_MS, nowMs);
      const asked = ask(url).finally(() => open.delete(asked));
      open.add(asked);
    }, PACE_MS);
    return null;
  },
  async figures(_: null): Promise<HealthFigures> {
    if (timer !== null) clearInterval(timer);
    await Promise.all(open);
    for (const list of [times, lateness]) list.sort((a, b) => a - b);
    return {
      requests: times.length,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      max: times.at(-1) ?? Number.NaN,
      latenessP99: quantile(lateness, 0.99),
    };
  },
};
export type HealthWatchDoor = typeof door;
serve(door);

function ask(url: string): Promise<void> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume();
      response.on('end', () => {
        times.push(performance.now() - startedMs);
        resolve();
      });
    }).on('error', reject);
  });
}
