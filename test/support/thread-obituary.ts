// ThreadObituary: real worker threads, and a note of when the pool ended each, and when it knew that it had ended.

import type { ThreadStarter } from '../../src/supervisor/threads/thread-starter.ts';
import { workerStarter } from '../../src/supervisor/threads/worker-starter.ts';
import { wallMs } from './victim-actor.ts';

export interface ThreadObituary {
  readonly starter: ThreadStarter;
  /** When the kernel decided to end the thread; undefined when it died by itself. */
  readonly sentencedAtMs: ReadonlyMap<number, number>;
  /** When its exit was told on the main thread, before anybody heard of it. */
  readonly exitedAtMs: ReadonlyMap<number, number>;
}

export function openObituary(): ThreadObituary {
  const workers = workerStarter();
  const sentencedAtMs = new Map<number, number>();
  const exitedAtMs = new Map<number, number>();
  const starter: ThreadStarter = {
    ...workers,
    start: (seed, hooks) => {
      const worker = workers.start(seed, {
        ...hooks,
        exited: (code) => {
          exitedAtMs.set(seed.thread, wallMs());
          hooks.exited(code);
        },
      });
      return {
        terminate: () => {
          if (!sentencedAtMs.has(seed.thread)) sentencedAtMs.set(seed.thread, wallMs());
          worker.terminate();
        },
      };
    },
  };
  return { starter, sentencedAtMs, exitedAtMs };
}
