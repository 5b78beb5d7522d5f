// The door to a real actor system: each test gets its own, and it is stopped, threads and all, when the test ends.

import { onTestFinished } from 'vitest';
import type { ChildOptions } from '../../src/supervisor/actor.ts';
import { type ActorSystem, type ActorSystemOptions, createActorSystem } from '../../src/supervisor/system.ts';
import { loopTurn } from '../../src/supervisor/testkit/index.ts';

/** The kernel's promises hold on both; every conformance test runs on each. */
export const TRANSPORTS = ['the same thread', 'a worker thread'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** No spare unless a test asks for it; a heartbeat that tests need not wait for, and that finds nobody stuck on a busy machine. */
const THREADS = { spare: false, heartbeatMs: 25, stuckMs: 1e9 } as const;

export async function openSystem(options: ActorSystemOptions = {}): Promise<ActorSystem> {
  const system = await createActorSystem({ ...options, threads: { ...THREADS, ...options.threads } });
  onTestFinished(() => system.stop());
  return system;
}

/** The options of a child that lives where the transport says; not restarted, unless the test says so. */
export function on(transport: Transport, options: ChildOptions): ChildOptions {
  return { restart: 'temporary', ...(transport === 'the same thread' ? {} : onThread('one')), ...options };
}

export function onThread(thread: string): { readonly placement: { readonly thread: string } } {
  return { placement: { thread } };
}

/** For snapshots and polls on a machine that is busy with other things. */
export const PATIENT = { withinMs: 20_000, timeout: 20_000 } as const;

export interface Sums {
  readonly sent: number;
  readonly handled: number;
  readonly rejected: number;
  readonly deadLettered: number;
  /** Not handled yet. */
  readonly queued: number;
}

/** A busy machine needs some; a sum that is still open after so many never closes. */
const REPORTS_MAX = 400;

/** The counters of all threads once nothing moves any more: what was sent is accounted for, in two reports in a row. */
export async function settledSums(system: ActorSystem): Promise<Sums> {
  let before = '';
  for (let reports = 1; ; reports += 1) {
    await nextReports(system);
    const sums = { ...system.counters(), queued: system.queued() };
    const isClosed = sums.handled + sums.rejected + sums.deadLettered + sums.queued === sums.sent;
    if ((isClosed && before === JSON.stringify(sums)) || reports === REPORTS_MAX) return sums;
    before = JSON.stringify(sums);
  }
}

/** Resolves when each thread has answered one more heartbeat. */
async function nextReports(system: ActorSystem): Promise<void> {
  const seen = new Map(system.threads().map(({ thread, health }) => [thread, health]));
  const isNews = (): boolean =>
    system.threads().every(({ thread, health }) => health !== null && health !== seen.get(thread));
  while (!isNews()) await loopTurn();
}
