// A bootstrap in which one thread dies before its handshake, in the way that its data say. The others get ready.

import { workerData } from 'node:worker_threads';
import type { BootedThread } from '../../src/supervisor/threads/bootstrap.ts';
import type { ThreadSeed } from '../../src/supervisor/threads/thread-starter.ts';

export interface DyingThread {
  readonly thread: number;
  readonly how: 'throw' | 'exit' | 'hang';
}

export async function bootThread({ thread, how }: DyingThread): Promise<BootedThread> {
  if ((workerData as ThreadSeed).thread === thread) {
    if (how === 'throw') throw new Error('this bootstrap dies as told');
    if (how === 'exit') process.exit(0);
    // A thread that waits for nothing at all ends by itself.
    setInterval(() => undefined, 60_000);
    await new Promise(() => undefined);
  }
  return { services: {} as BootedThread['services'], close: async () => undefined };
}
