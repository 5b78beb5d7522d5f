// Real crashes: whatever an actor or its thread dies of, no actor elsewhere is lost, every watcher is told once, and every
// ask that is open fails with the news: by the time that watchers have been told and the event loop has turned once.
// How long that took is printed, and not tested: it is a matter of the machine.

import { afterAll, expect, test } from 'vitest';
import { present } from '../../src/std/assert.ts';
import type { ActorContext, ChildOptions, Terminated } from '../../src/supervisor/actor.ts';
import type { Address, Ref } from '../../src/supervisor/protocol.ts';
import { loopTurn } from '../../src/supervisor/testkit/index.ts';
import type { ThreadStarter } from '../../src/supervisor/threads/thread-starter.ts';
import { onThread, openSystem } from '../support/actor-system.ts';
import { openGate } from '../support/gate.ts';
import { openParent } from '../support/parent.ts';
import { openObituary } from '../support/thread-obituary.ts';
import {
  type Death,
  victimActor,
  type victimProtocol,
  wallMs,
  witnessActor,
} from '../support/victim-actor.ts';

type Victim = Ref<typeof victimProtocol>;

interface Crash {
  readonly name: string;
  /** Whether the actor dies alone, or its thread dies with all that lives there. */
  readonly lost: 'the actor' | 'the thread';
  readonly reason: RegExp;
  readonly heapMaxMb?: number;
  readonly stuckMs?: number;
  /** How its thread ends before the handshake. */
  readonly boot?: 'throw' | 'exit' | 'hang';
  /** Waits in its setup until it is to die. */
  readonly inSetup?: true;
}

const by = (death: Death, lost: Crash['lost'], reason: RegExp, more: Partial<Crash> = {}): Crash => ({
  name: death,
  lost,
  reason,
  ...more,
});

const CRASHES: readonly Crash[] = [
  by('a throw', 'the actor', /^boom$/),
  by('a rejection', 'the actor', /^boom$/),
  { name: 'a setup that throws', lost: 'the actor', reason: /^boom$/, inSetup: true },
  by('exit(0)', 'the thread', /without a handshake .*0/),
  by('exit(1)', 'the thread', /without a handshake .*1/),
  by('an uncaught error', 'the thread', /stray/),
  by('an unhandled rejection', 'the thread', /stray/),
  by('the heap limit', 'the thread', /memory/, { heapMaxMb: 16 }),
  by('an endless loop', 'the thread', /did not answer/, { stuckMs: 2_000 }),
  by('unreferenced ports', 'the thread', /without a handshake .*0/),
  { name: 'terminate()', lost: 'the thread', reason: /without a handshake/ },
  { name: 'a throw before the handshake', lost: 'the thread', reason: /dies as told/, boot: 'throw' },
  { name: 'exit(0) before the handshake', lost: 'the thread', reason: /without a handshake/, boot: 'exit' },
  { name: 'terminate() before the handshake', lost: 'the thread', reason: /without a hand/, boot: 'hang' },
];

/** The first thread that starts is the witness's. */
const VICTIMS_THREAD = 2;
const BOOTSTRAP = new URL('../support/one-thread-dies-bootstrap.ts', import.meta.url).href;
const ASK = { deadlineMs: 600_000 } as const;

const took: string[] = [];
afterAll(() =>
  console.info(
    `From the news of a death to the end of open asks on the main thread, and of another worker's:\n${took.join('\n')}`,
  ),
);

test.each(CRASHES)('nobody else is lost, misled or kept waiting by $name', async (crash) => {
  const obituary = openObituary();
  const system = await openSystem({
    threads: {
      starter: obituary.starter,
      heapMaxMb: crash.heapMaxMb ?? 256,
      // A thread whose heap is nearly full while it loads its modules is not left for that.
      heapRetireShare: 1,
      bootstrap: { module: BOOTSTRAP, data: { thread: crash.boot ? VICTIMS_THREAD : -1, how: crash.boot } },
      ...(crash.stuckMs === undefined ? {} : { stuckMs: crash.stuckMs }),
    },
  });
  const parent = openParent(system);
  const gate = await openGate(system);
  const spawn = (id: string, options: Partial<ChildOptions>, args = {}): Victim =>
    parent.spawn(victimActor, args, { id, restart: 'temporary', ...options });
  const bystanders = [spawn('here', {}), spawn('elsewhere', onThread('two'))];
  for (const bystander of bystanders) bystander.tell('add', 7);
  const witness = parent.spawn(witnessActor, undefined, { id: 'witness', ...onThread('two') });
  await parent.childStarted('witness');
  const victim = spawn('victim', onThread('one'), crash.inSetup ? { failsAfter: gate.address } : {});
  const neighbour = spawn('neighbour', onThread('one'));
  const told: Terminated[] = [];
  const news = Promise.withResolvers<number>();
  parent.watch(victim, (terminated) => {
    told.push(terminated);
    news.resolve(wallMs());
  });
  // Two askers on the main thread: an actor, and the program around the system.
  const asks = openAsks();
  for (const ref of [victim, system.refTo(victimActor.protocol, addressOf(victim))]) asks.ask(ref);
  const observed = witness.ask(
    'observe',
    { victim: addressOf(victim), neighbour: addressOf(neighbour) },
    ASK,
  );
  if (crash.boot === undefined) await observed;
  expect([asks.failures, told]).toEqual([[], []]);

  if (crash.inSetup) gate.open();
  else if (crash.name.startsWith('terminate')) void system.terminateThread(VICTIMS_THREAD);
  else if (crash.boot === undefined) victim.tell('die', crash.name as Death);
  asks.ask(victim); // right behind its death
  const newsAtMs = await news.promise;
  await loopTurn();
  expect(asks.failures).toEqual(Array(3).fill('actor_terminated'));
  // A thread that the kernel ends is dead to it from then on; of any other death it learns by the news alone.
  const { sentencedAtMs, exitedAtMs } = obituary;
  const knownAtMs = sentencedAtMs.get(VICTIMS_THREAD) ?? exitedAtMs.get(VICTIMS_THREAD) ?? newsAtMs;
  const testimony = await witness.ask('end', {}, ASK);
  expect(testimony.failure?.code).toBe('actor_terminated');
  took.push(
    `${crash.name}: ${since(knownAtMs, asks.lastAtMs())}, ${since(knownAtMs, testimony.failure?.atMs)}`,
  );

  await observed;
  await endOf(parent, spawn('last', onThread('two')));
  const reason = {
    kind: crash.lost === 'the actor' ? 'crashed' : 'thread_lost',
    message: expect.stringMatching(crash.reason),
  };
  const once = [{ address: addressOf(victim), reason }];
  expect(told).toEqual(once);
  // Who begins to watch when the thread is gone already hears that, and not what it died of.
  const onceThere =
    crash.boot === undefined
      ? once
      : [{ address: addressOf(victim), reason: { ...reason, message: expect.any(String) } }];
  expect((await witness.ask('sofar', {})).told).toEqual(onceThere);
  expect(await Promise.all(bystanders.map((bystander) => bystander.ask('total', {})))).toEqual([7, 7]);
  const neighbours = crash.lost === 'the actor' ? 0 : 'actor_terminated';
  expect(await neighbour.ask('total', {}).catch((error) => error.code)).toBe(neighbours);
});

test('a thread that cannot be made fails the placement only, and the next try gets one', async () => {
  const system = await openSystem({ threads: { starter: starterWithout(2) } });
  const parent = openParent(system);
  const elsewhere = parent.spawn(victimActor, {}, { id: 'elsewhere', ...onThread('two') });
  elsewhere.tell('add', 7);
  const place = () => parent.spawn(victimActor, {}, { id: 'victim', ...onThread('one') });
  expect(place).toThrow('no thread left');
  expect(await place().ask('total', {})).toBe(0);
  expect(await elsewhere.ask('total', {})).toBe(7);
  expect(parent.signal.aborted).toBe(false);
});

test('a thread with a heap limit of its own dies of that, whatever the others may have', async () => {
  const system = await openSystem({ threads: { spare: true, heapMaxMb: 1_024 } });
  const parent = openParent(system);
  const placement = { dedicated: { heapMaxMb: 16 } };
  const victim = parent.spawn(victimActor, {}, { id: 'victim', restart: 'temporary', placement });
  const other = parent.spawn(victimActor, {}, { id: 'other', restart: 'temporary', ...onThread('one') });
  await parent.childStarted('victim');
  const ended = new Promise<Terminated>((resolve) => parent.watch(victim, resolve));
  // Far less than the usual limit.
  victim.tell('hoard', 200);
  expect((await ended).reason).toMatchObject({ message: expect.stringMatching(/memory/) });
  expect(await other.ask('total', {})).toBe(0);
});

test('a spare that cannot be made is no loss', async () => {
  const system = await openSystem({ threads: { spare: true, starter: starterWithout(2) } });
  const parent = openParent(system);
  const victim = parent.spawn(victimActor, {}, { id: 'victim', ...onThread('one') });
  expect(await victim.ask('total', {})).toBe(0);
});

/** Real threads, but the machine has none left when it comes to that one. */
function starterWithout(thread: number): ThreadStarter {
  const { starter } = openObituary();
  return {
    ...starter,
    start: (seed, hooks) => {
      if (seed.thread === thread) throw new Error('no thread left');
      return starter.start(seed, hooks);
    },
  };
}

/** Comes through the same channels as the news before it: nothing of them can be behind it. */
async function endOf(parent: ActorContext, other: Victim): Promise<void> {
  await other.ask('total', {});
  const ended = new Promise((resolve) => parent.watch(other, resolve));
  await parent.stopChild('last');
  await ended;
}

/** What died by itself may have failed its asks before it was known to be dead. */
function since(fromMs: number, untilMs = Number.NaN): string {
  return `${Math.max(0, untilMs - fromMs).toFixed(1)} ms`;
}

function addressOf(ref: Victim): Address {
  return present(ref.address, 'the address of a ref to an incarnation');
}

/** Questions that the victim never answers, and how they ended so far. */
function openAsks(): { ask(victim: Victim): void; readonly failures: readonly string[]; lastAtMs(): number } {
  const failures: string[] = [];
  let lastAtMs = Number.NaN;
  return {
    failures,
    lastAtMs: () => lastAtMs,
    ask: (victim) => {
      victim.ask('never', {}, ASK).catch((error) => {
        failures.push(error.code);
        lastAtMs = wallMs();
      });
    },
  };
}
