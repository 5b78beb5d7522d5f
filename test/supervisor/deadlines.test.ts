// Deadlines: one timer for any number of pending asks.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Deadlines, type Expiring } from '../../src/supervisor/deadlines.ts';
import { ManualClock } from '../../src/supervisor/testkit/index.ts';
import { openSystem } from '../support/actor-system.ts';
import { fountainActor } from '../support/fountain-actor.ts';

class Waiting implements Expiring {
  isSettled = false;
  readonly #expired: string[];
  readonly #name: string;

  constructor(expired: string[], name: string) {
    this.#expired = expired;
    this.#name = name;
  }

  expire(): void {
    this.#expired.push(this.#name);
    this.isSettled = true;
  }
}

test('each expires at its own time, asks of different durations in the order of their times', async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  deadlines.add(100, new Waiting(expired, 'long'));
  deadlines.add(10, new Waiting(expired, 'short'));
  await clock.advance(5);
  deadlines.add(10, new Waiting(expired, 'later'));
  await clock.advance(9);
  expect(expired).toEqual(['short']);
  await clock.advance(1);
  expect(expired).toEqual(['short', 'later']);
  await clock.advance(85);
  expect(expired).toEqual(['short', 'later', 'long']);
  expect(clock.timers).toBe(0);
});

test('what was answered in time does not expire, and leaves no timer once its time has passed', async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  const all = Array.from({ length: 5_000 }, (_, i) => new Waiting(expired, `${i}`));
  for (const [i, waiting] of all.entries()) {
    deadlines.add(10, waiting);
    if (i % 1_000 !== 0) waiting.isSettled = true;
  }
  await clock.advance(10);
  expect(expired).toEqual(['0', '1000', '2000', '3000', '4000']);
  expect(clock.timers).toBe(0);
});

test('an ask that is made while others expire gets its own time', async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  const again: Expiring = {
    isSettled: false,
    expire: () => deadlines.add(10, new Waiting(expired, 'again')),
  };
  deadlines.add(10, again);
  await clock.advance(19);
  expect(expired).toEqual([]);
  await clock.advance(1);
  expect(expired).toEqual(['again']);
});

test('a closed one fires no more', async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock);
  const expired: string[] = [];
  deadlines.add(10, new Waiting(expired, 'never'));
  deadlines.close();
  await clock.advance(100);
  expect(expired).toEqual([]);
  expect(clock.timers).toBe(0);
});

test('a reply is not kept until the deadline of its ask', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const system = await openSystem();
  const fountain = system.spawn(fountainActor, undefined, { id: 'fountain' });
  const ask = async (): Promise<WeakRef<object>> => new WeakRef(await fountain.ask('whereabouts', {}));
  const reply = await ask();
  await fountain.ask('made', {});
  await expect
    .poll(() => {
      collectGarbage();
      return reply.deref() === undefined;
    })
    .toBe(true);
});
