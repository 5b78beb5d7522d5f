// The stream of dead letters: of all threads, bounded, without a word of what was in them.

import { expect, test } from 'vitest';
import type { DeadLetterReport } from '../../../src/supervisor/introspection/contract.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { onThread, openSystem, PATIENT } from '../../support/actor-system.ts';
import { counterActor, counterProtocol } from '../../support/counter-actor.ts';
import { senderActor } from '../../support/sender-actor.ts';

/** Reads until there is one that matches. */
async function letterOf(
  letters: ReturnType<ActorSystem['introspection']['deadLetters']>,
  matches: (letter: DeadLetterReport) => boolean,
): Promise<DeadLetterReport> {
  for await (const { items } of letters) {
    const found = items.find(matches);
    if (found !== undefined) return found;
  }
  throw new Error('the stream ended');
}

test('letters of this thread and of workers come as they happen, and so do those of later threads', async () => {
  const system = await openSystem();
  const letters = system.introspection.deadLetters();
  await system.introspection.snapshot(PATIENT);
  system.named(counterProtocol, 'nobody').tell('add', 42);
  expect(await letters.next()).toEqual({
    done: false,
    value: {
      items: [
        { atMs: expect.any(Number), thread: 0, target: 'nobody', message: 'add', refusal: 'unknown_name' },
      ],
      missed: 0,
    },
  });
  const again = system.introspection.deadLetters();
  const gone = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'gone', restart: 'temporary', ...onThread('two') },
  );
  const to = await gone.ask('whereabouts', {});
  const sender = system.spawn(senderActor, { name: 'sender' }, { id: 'sender', ...onThread('one') });
  const ended = new Promise((resolve) => system.watch(to, resolve));
  gone.tell('stop', {});
  await ended;
  await sender.ask('send', { to, count: 1 });
  expect(await letterOf(again, ({ thread }) => thread === to.thread)).toMatchObject({
    target: 'gone',
    refusal: 'terminated',
  });
  await letters.return?.();
  expect(await letters.next()).toEqual({ done: true, value: undefined });
});

test('those that are kept are read from the time that is asked for', async () => {
  const system = await openSystem();
  system.named(counterProtocol, 'early').tell('add', 1);
  const letters = system.introspection.deadLetters({ sinceMs: 0 });
  expect((await letterOf(letters, () => true)).target).toBe('early');
});

test('a slow reader misses the oldest, and is told how many', async () => {
  const system = await openSystem();
  const letters = system.introspection.deadLetters();
  await system.introspection.snapshot(PATIENT); // behind the question for the letters
  for (let n = 0; n < 10_000; n += 1) system.named(counterProtocol, `nobody ${n}`).tell('add', n);
  let seen = 0;
  let missed = 0;
  while (seen + missed < 10_000) {
    const { value } = await letters.next();
    seen += value.items.length;
    missed += value.missed;
  }
  expect(seen + missed).toBe(10_000);
  expect(missed).toBeGreaterThan(9_000);
});
