// A bootstrap that never gets a thread ready: it dies in it, or hangs, as its data say.

import type { BootedThread } from '../../src/supervisor/threads/bootstrap.ts';

export function bootThread(how: 'throw' | 'exit' | 'hang'): Promise<BootedThread> {
  if (how === 'throw') throw new Error('this bootstrap dies as told');
  if (how === 'exit') process.exit(0);
  // A thread that waits for nothing at all ends by itself.
  setInterval(() => undefined, 60_000);
  return new Promise(() => undefined);
}
