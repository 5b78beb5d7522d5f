// Eventually: what becomes true in its own time, on a machine that has other things to do too.

import { expect } from 'vitest';

const PATIENCE = { timeout: 20_000, interval: 5 } as const;

/** `await eventually(read).toBe(…)`: reads again until it holds. */
export function eventually<T>(read: () => T | Promise<T>): ReturnType<typeof expect.poll<T>> {
  return expect.poll(read, PATIENCE);
}
