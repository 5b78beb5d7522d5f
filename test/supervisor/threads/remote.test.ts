// Remote: what two workers send to each other before the main thread has introduced them. Both ends are real, with a real
// channel between them; only the threads are one, so that the introduction comes when the test says so.

import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/std/clock.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { silentLog } from '../../../src/std/log.ts';
import type { ChildOptions, TerminationReason, ThreadServices } from '../../../src/supervisor/actor.ts';
import type { ParentHandle } from '../../../src/supervisor/cell.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { Address, Ref } from '../../../src/supervisor/protocol.ts';
import { typed } from '../../../src/supervisor/ref.ts';
import { Runtime } from '../../../src/supervisor/runtime.ts';
import { type Executor, threadExecutor } from '../../../src/supervisor/scheduler.ts';
import { loopTurn } from '../../../src/supervisor/testkit/index.ts';
import { Remote } from '../../../src/supervisor/threads/remote.ts';
import { counterActor, type counterProtocol } from '../../support/counter-actor.ts';

interface Thread {
  readonly runtime: Runtime;
  readonly remote: Remote;
}

const noThreads = {
  place: (): number => {
    throw new Error('no threads here');
  },
  giveBack: () => undefined,
  giveUpStarting: () => undefined,
  condemn: () => undefined,
};

function openThread(thread: number, executor: Executor = threadExecutor): Thread {
  const runtime = new Runtime({
    thread,
    clock: systemClock,
    random: seededRandom(thread),
    log: silentLog,
    services: {} as ThreadServices,
    executor,
  });
  onTestFinished(() => runtime.deadlines.close());
  return { runtime, remote: new Remote(runtime, noThreads, () => undefined) };
}

function introduce(one: Thread, two: Thread): void {
  const { port1, port2 } = new MessageChannel();
  one.remote.join(two.runtime.thread, port1);
  two.remote.join(one.runtime.thread, port2);
  onTestFinished(() => {
    one.remote.threadLost(two.runtime.thread, 'the test is over');
    two.remote.threadLost(one.runtime.thread, 'the test is over');
  });
}

function startCounter({ runtime }: Thread, options: Partial<ChildOptions> = {}): Address {
  const nobody: ParentHandle = { thread: runtime.thread, childStarted() {}, childEnded() {} };
  const spec = child(counterActor, { start: 0 }, { id: 'counter', ...options });
  return runtime.startCell(spec, runtime.thread * 2 ** 33 + 1, 'counter', nobody).address;
}

function counterRef({ runtime }: Thread, address: Address): Ref<typeof counterProtocol> {
  return typed(runtime.refTo(address, null));
}

test('mail and watches for a worker that is not introduced yet wait for it, in order', async () => {
  const [one, nine] = [openThread(1), openThread(9)];
  const address = startCounter(nine);
  const counter = counterRef(one, address);
  const reasons: TerminationReason[] = [];
  one.remote.watch(address, (reason) => reasons.push(reason));
  for (let n = 0; n < 10_000; n += 1) expect(counter.tell('add', 1)).toBe(true);
  const total = counter.ask('total', {});
  await loopTurn();
  introduce(one, nine);
  expect(await total).toBe(10_000);
  counter.tell('stop', {});
  await expect.poll(() => reasons).toEqual([{ kind: 'stopped' }]);
});

test('a worker that is lost before it was introduced fails what waits for it, and what comes later', async () => {
  const one = openThread(1);
  const address: Address = { thread: 9, actor: 9 * 2 ** 33 + 1, path: 'counter' };
  const counter = counterRef(one, address);
  const reasons: TerminationReason[] = [];
  one.remote.watch(address, (reason) => reasons.push(reason));
  counter.tell('add', 1);
  const total = counter.ask('total', {});
  one.remote.threadLost(9, 'it never came');
  await expect(total).rejects.toMatchObject({ code: 'actor_terminated', message: 'it never came' });
  expect(reasons).toEqual([{ kind: 'thread_lost', message: 'it never came' }]);
  await expect(counter.ask('total', {})).rejects.toMatchObject({ code: 'actor_terminated' });
  one.remote.watch(address, (reason) => reasons.push(reason));
  expect(reasons).toHaveLength(2);
  expect(one.runtime.counters).toMatchObject({ sent: 3, handled: 0, rejected: 0, deadLettered: 3 });
});

test('a worker keeps the name that its actor took while another bearer of it came and went', async () => {
  const [main, worker] = [openThread(0), openThread(1)];
  const first = startCounter(main, { name: 'the one' });
  const second = startCounter(worker, { name: 'the one' });
  // Told before either has heard of the other: taken and freed here, taken there.
  introduce(main, worker);
  main.remote.nameTaken('the one', first);
  main.runtime.cells.get(first.actor)?.kill();
  worker.remote.nameTaken('the one', second);
  await expect.poll(() => main.runtime.registry.find('the one')).toEqual(second);
  await loopTurn();
  expect(worker.runtime.registry.find('the one')).toEqual(second);
  worker.runtime.cells.get(second.actor)?.kill();
  await expect.poll(() => main.runtime.registry.find('the one')).toBeUndefined();
});

test('a thread that has lost one which it owed credit has nothing left to do', async () => {
  let turns = 0;
  const afterIo: Executor['afterIo'] = (run) => {
    turns += 1;
    threadExecutor.afterIo(run);
  };
  const [one, nine] = [openThread(1, { ...threadExecutor, afterIo }), openThread(9)];
  introduce(one, nine);
  const counter = counterRef(nine, startCounter(one));
  // As many as may be on the wire.
  for (let n = 0; n < 8_192; n += 1) counter.tell('add', 1);
  while (one.runtime.counters.handled === 0) await loopTurn();
  one.remote.threadLost(9, 'it was lost while it flooded');
  while (one.runtime.queued() > 0) await loopTurn();
  await loopTurn();
  const turnsBefore = turns;
  for (let n = 0; n < 10; n += 1) await loopTurn();
  expect(turns).toBe(turnsBefore);
});
