// Promise 10: a flooded actor yields: timers, I/O and other actors stay responsive. Counted in turns of the event loop and
// in messages, which do not depend on how busy the machine is.

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/std/clock.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { loopTurn } from '../../../src/supervisor/testkit/index.ts';
import { on, openSystem, TRANSPORTS } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { fountainActor } from '../../support/fountain-actor.ts';

/** The most that is handled between two turns of the event loop. */
const TURN_MESSAGES = 256;

function handledBy(system: ActorSystem, path: string): number {
  return system.actors().find((actor) => actor.path === path)?.handled ?? Number.NaN;
}

describe.each(TRANSPORTS)('10, fairness on %s', (transport) => {
  test('another actor answers while one is busy with itself without end', async () => {
    const system = await openSystem();
    const busy = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'busy' }));
    const other = system.spawn(counterActor, { start: 5 }, on(transport, { id: 'other' }));
    busy.tell('churn', {});
    for (let i = 0; i < 10; i += 1) expect(await other.ask('total', {})).toBe(5);
    // Its own mail is handled too, and a stop ends it.
    expect(await busy.ask('total', {})).toBeGreaterThan(0);
    busy.tell('stop', {});
    await expect(busy.ask('never', {})).rejects.toMatchObject({ code: 'actor_terminated' });
  });

  test('a timer fires in time to end what two actors ask each other without end', async () => {
    const system = await openSystem();
    const counter = system.spawn(counterActor, { start: 0 }, on(transport, { id: 'counter' }));
    let isTime = false;
    systemClock.startTimer(20, () => {
      isTime = true;
    });
    while (!isTime) await counter.ask('total', {});
  });

  test('a timer fires in time to end a stream that never waits', async () => {
    const system = await openSystem();
    const fountain = system.spawn(fountainActor, undefined, on(transport, { id: 'fountain' }));
    let isTime = false;
    systemClock.startTimer(20, () => {
      isTime = true;
    });
    for await (const _ of fountain.stream('endless', {})) if (isTime) break;
  });
});

test('between two turns of the event loop a bounded number of messages is handled', async () => {
  const system = await openSystem();
  const flooded = system.spawn(counterActor, { start: 0 }, { id: 'flooded' });
  for (let n = 0; n < 50_000; n += 1) flooded.tell('add', 1);
  for (let before = handledBy(system, 'flooded'); before < 50_000; before = handledBy(system, 'flooded')) {
    await loopTurn();
    expect(handledBy(system, 'flooded') - before).toBeLessThanOrEqual(2 * TURN_MESSAGES);
  }
});

test('a question to another actor is answered long before a flood is worked off', async () => {
  const system = await openSystem();
  const flooded = system.spawn(counterActor, { start: 0 }, { id: 'flooded' });
  const other = system.spawn(counterActor, { start: 5 }, { id: 'other' });
  for (let n = 0; n < 50_000; n += 1) flooded.tell('add', 1);
  for (let i = 1; i <= 10; i += 1) {
    expect(await other.ask('total', {})).toBe(5);
    expect(handledBy(system, 'flooded')).toBeLessThanOrEqual(2 * TURN_MESSAGES * i);
  }
});
