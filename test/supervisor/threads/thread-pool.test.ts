// ThreadPool: which threads there are. What becomes of their actors is tested with the promises of the kernel.

import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/std/ids.ts';
import { silentLog } from '../../../src/std/log.ts';
import type { ThreadServices } from '../../../src/supervisor/actor.ts';
import { MAIN_THREAD, Runtime } from '../../../src/supervisor/runtime.ts';
import { threadExecutor } from '../../../src/supervisor/scheduler.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { THREAD_POOL_DEFAULTS, ThreadPool } from '../../../src/supervisor/threads/thread-pool.ts';

test('no thread is started any more once the pool is being stopped', async () => {
  const clock = new ManualClock();
  const runtime = new Runtime({
    thread: MAIN_THREAD,
    clock,
    random: seededRandom(1),
    log: silentLog,
    services: {} as ThreadServices,
    executor: threadExecutor,
  });
  const bootstrap = { module: null, data: null, preload: [], logLevel: 'silent' } as const;
  const pool = new ThreadPool(runtime, { ...THREAD_POOL_DEFAULTS, bootstrap });
  const stopped = pool.stop(1_000);
  expect(() => pool.place('any', 1, 'late')).toThrow('the system is stopping');
  await stopped;
  expect(pool.views()).toEqual([]);
  expect(clock.timers).toBe(0);
});
