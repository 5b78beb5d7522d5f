// BootThread: puts up the services of a worker thread's actors (see supervisor/threads/bootstrap.ts).

import './actors/services.ts';
import { openStorage } from './storage/storage.ts';
import type { BootedThread } from './supervisor/threads/bootstrap.ts';

export interface ThreadSeed {
  readonly dataDir: string;
  readonly version: string;
}

export async function bootThread(data: unknown): Promise<BootedThread> {
  const { dataDir, version } = data as ThreadSeed;
  const storage = await openStorage({ directory: dataDir, primary: false });
  return { services: { storage, version }, close: () => storage.close() };
}
