// Children: restarts that overlap. Here the children are driven by hand, so that each interleaving can be met.

import { expect, test } from 'vitest';
import { seededRandom } from '../../src/std/ids.ts';
import type { ChildOptions, SupervisionStrategy, TerminationReason } from '../../src/supervisor/actor.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { Children, child } from '../../src/supervisor/children.ts';
import { protocol } from '../../src/supervisor/protocol.ts';
import { loopTurn, ManualClock } from '../../src/supervisor/testkit/index.ts';

const CRASHED: TerminationReason = { kind: 'crashed', message: 'boom' };
const STOPPED: TerminationReason = { kind: 'stopped' };

const nobody = actor({ module: '', exportName: '', protocol: protocol('nobody', {}), setup: () => ({}) });

/** Children whose every step is noted in `log`; they start, stop and crash when the test says so. */
class Nursery {
  readonly log: string[] = [];
  readonly clock = new ManualClock();
  readonly children: Children;
  /** The running incarnation of each child. */
  readonly #actors = new Map<string, number>();
  #actorNext = 1;

  constructor(strategy: SupervisionStrategy, ids: readonly string[], options: Partial<ChildOptions> = {}) {
    this.children = new Children({
      thread: 0,
      path: 'nursery',
      clock: this.clock,
      random: { ...seededRandom(1), float: () => 0.5 },
      launch: ({ options: { id } }) => {
        this.log.push(`launch ${id}`);
        const number = this.#actorNext;
        this.#actorNext += 1;
        this.#actors.set(id, number);
        return {
          actor: number,
          thread: 0,
          stop: () => this.log.push(`stop ${id}`),
          drain: () => this.log.push(`drain ${id}`),
          kill: () => this.log.push(`kill ${id}`),
        };
      },
      crash: (message) => this.log.push(`escalate: ${message}`),
      restarted: () => undefined,
      signal: (run) => run(),
    });
    this.children.supervise({
      strategy,
      intensity: { restartsMax: 5, withinMs: 60_000 },
      backoff: { initialMs: 0, maxMs: 0 },
    });
    for (const id of ids) {
      this.children.start(child(nobody, undefined, { id, ...options }));
      this.started(id);
    }
    this.log.length = 0;
  }

  started(id: string): void {
    this.children.childStarted(id, this.#actors.get(id) ?? 0);
  }

  ended(id: string, reason: TerminationReason): void {
    this.children.childEnded(id, this.#actors.get(id) ?? 0, reason);
  }

  retiring(id: string): void {
    this.children.childRetiring(id, this.#actors.get(id) ?? 0);
  }

  /** What has happened since the last time. */
  async happened(): Promise<readonly string[]> {
    await loopTurn();
    return this.log.splice(0);
  }
}

test('a child that crashes while its siblings are being stopped for another is part of that restart', async () => {
  const nursery = new Nursery('one_for_all', ['a', 'b', 'c']);
  nursery.ended('b', CRASHED);
  expect(await nursery.happened()).toEqual(['stop c']);
  nursery.ended('a', CRASHED);
  nursery.ended('c', STOPPED);
  expect(await nursery.happened()).toEqual(['launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual(['launch b']);
  nursery.started('b');
  expect(await nursery.happened()).toEqual(['launch c']);
});

test('a failure during a restart takes over what it has not started yet, and keeps the order', async () => {
  const nursery = new Nursery('one_for_all', ['a', 'b', 'c']);
  nursery.ended('c', CRASHED);
  expect(await nursery.happened()).toEqual(['stop b']);
  nursery.ended('b', STOPPED);
  expect(await nursery.happened()).toEqual(['stop a']);
  nursery.ended('a', STOPPED);
  expect(await nursery.happened()).toEqual(['launch a']);
  nursery.ended('a', CRASHED); // in its setup
  expect(await nursery.happened()).toEqual(['launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual(['launch b']); // and not c beside it
  nursery.started('b');
  expect(await nursery.happened()).toEqual(['launch c']);
  nursery.started('c');
  expect(await nursery.happened()).toEqual([]);
});

test('an earlier sibling that fails while later ones are restarted restarts them all, once', async () => {
  const nursery = new Nursery('rest_for_one', ['a', 'b', 'c']);
  nursery.ended('b', CRASHED);
  expect(await nursery.happened()).toEqual(['stop c']);
  nursery.ended('a', CRASHED);
  expect(await nursery.happened()).toEqual([]);
  nursery.ended('c', STOPPED);
  expect(await nursery.happened()).toEqual(['launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual(['launch b']);
  nursery.started('b');
  expect(await nursery.happened()).toEqual(['launch c']);
});

test('a restart that waits for a slow stop leaves alone what another one has started again meanwhile', async () => {
  const nursery = new Nursery('rest_for_one', ['a', 'b']);
  nursery.ended('a', CRASHED);
  expect(await nursery.happened()).toEqual(['stop b']);
  const stopped = nursery.children.stop('b'); // so that nobody else waits for it
  nursery.children.start(child(nobody, undefined, { id: 'c' }));
  nursery.started('c');
  nursery.ended('c', CRASHED);
  expect(await nursery.happened()).toEqual(['launch c', 'launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual(['launch c']);
  nursery.started('c');
  nursery.ended('b', STOPPED);
  await stopped;
  expect(await nursery.happened()).toEqual([]);
});

test('a temporary child goes down with its siblings, and does not come back', async () => {
  const nursery = new Nursery('one_for_all', ['a']);
  nursery.children.start(child(nobody, undefined, { id: 'b', restart: 'temporary' }));
  nursery.started('b');
  nursery.ended('a', CRASHED);
  nursery.ended('b', STOPPED);
  expect(await nursery.happened()).toEqual(['launch b', 'stop b', 'launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual([]);
  expect(nursery.children.has('b')).toBe(false);
});

test('a child that is stopped for good during a restart is not started by it', async () => {
  const nursery = new Nursery('one_for_all', ['a', 'b']);
  nursery.ended('a', CRASHED);
  expect(await nursery.happened()).toEqual(['stop b']);
  const stopped = nursery.children.stop('b');
  nursery.ended('b', STOPPED);
  await stopped;
  expect(await nursery.happened()).toEqual(['launch a']);
  nursery.started('a');
  expect(await nursery.happened()).toEqual([]);
  expect(nursery.children.has('b')).toBe(false);
});

test('a stop of all during a restart starts nothing more, and tells who waits for a start', async () => {
  const nursery = new Nursery('one_for_all', ['a', 'b']);
  nursery.ended('b', CRASHED);
  nursery.ended('a', STOPPED);
  expect(await nursery.happened()).toEqual(['launch a']);
  const started = nursery.children.started('b');
  const stopped = nursery.children.stopAll();
  await expect(started).rejects.toThrow('its parent is stopping');
  nursery.ended('a', STOPPED);
  await stopped;
  expect(await nursery.happened()).toEqual(['stop a']);
});

test('a kill ends a stop that is under way, and leaves no timer', async () => {
  const nursery = new Nursery('one_for_one', ['a', 'b']);
  const stopped = nursery.children.stopAll();
  nursery.children.killAll();
  await stopped;
  expect(await nursery.happened()).toEqual(['stop b', 'kill b', 'kill a']);
  expect(nursery.clock.timers).toBe(0);
});

test('children whose thread is being left are drained and started again, as the strategy says, and it is no failure', async () => {
  const nursery = new Nursery('rest_for_one', ['a', 'b', 'c']);
  for (let i = 0; i < 10; i += 1) {
    nursery.retiring('b');
    nursery.retiring('c'); // is part of it already
    expect(await nursery.happened()).toEqual(['drain c']);
    nursery.ended('c', STOPPED);
    expect(await nursery.happened()).toEqual(['drain b']);
    nursery.ended('b', STOPPED);
    expect(await nursery.happened()).toEqual(['launch b']);
    nursery.started('b');
    expect(await nursery.happened()).toEqual(['launch c']);
    nursery.started('c');
  }
  const stopped = nursery.children.stopAll();
  nursery.retiring('a');
  nursery.ended('c', STOPPED);
  expect(await nursery.happened()).toEqual(['stop c', 'stop b']);
  nursery.children.killAll();
  await stopped;
});

test('a temporary child whose thread is being left may finish', async () => {
  const nursery = new Nursery('one_for_one', ['a'], { restart: 'temporary' });
  nursery.retiring('a');
  expect(await nursery.happened()).toEqual([]);
});

test('a child that cannot be placed leaves its id free', () => {
  const children = new Children({
    thread: 0,
    path: 'nursery',
    clock: new ManualClock(),
    random: seededRandom(1),
    launch: () => {
      throw new Error('no such place');
    },
    crash: () => undefined,
    restarted: () => undefined,
    signal: (run) => run(),
  });
  expect(() => children.start(child(nobody, undefined, { id: 'a' }))).toThrow('no such place');
  expect(children.has('a')).toBe(false);
});
