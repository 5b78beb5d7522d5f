// Bootstrap: how the services of a thread's actors are made, by a module that the embedding program names.

import type { LogLevel } from '../../std/log.ts';
import type { ThreadServices } from '../actor.ts';

export interface ThreadBootstrap {
  /** Exports `bootThread(data): Promise<BootedThread>`; null for a thread without services. */
  readonly module: string | null;
  /** Plain data. */
  readonly data: unknown;
  /** Modules that a worker loads before it is ready, so that its first actors start warm. */
  readonly preload: readonly string[];
  readonly logLevel: LogLevel;
}

export interface BootedThread {
  readonly services: ThreadServices;
  close(): Promise<void>;
}

export async function bootThread(bootstrap: ThreadBootstrap): Promise<BootedThread> {
  await Promise.all(bootstrap.preload.map((module) => import(module)));
  if (bootstrap.module === null) return { services: {} as ThreadServices, close: async () => undefined };
  const exports = (await import(bootstrap.module)) as { bootThread(data: unknown): Promise<BootedThread> };
  return exports.bootThread(bootstrap.data);
}
