// Y2: a stop ends the tree, then the threads, and leaves no timer, port or thread behind, whatever state they are in.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { ManualClock } from '../../src/supervisor/testkit/index.ts';
import { onThread, openSystem } from '../support/actor-system.ts';
import { counterActor } from '../support/counter-actor.ts';
import { openParent } from '../support/parent.ts';

const dyingBootstrap = new URL('../support/dying-bootstrap.ts', import.meta.url).href;
const notingBootstrap = new URL('../support/noting-bootstrap.ts', import.meta.url).href;

test('a process ends by itself once its system has stopped, and not before', async () => {
  const script = fileURLToPath(new URL('../support/kernel-process.ts', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { timeout: 20_000 });
  expect(JSON.parse(stdout)).toEqual([1, 2, 'ended', 'ended']);
  expect(stderr).toBe('');
});

test('a stop leaves no timer behind: of asks, of actors, of children that were killed, of the heartbeat', async () => {
  const clock = new ManualClock();
  const system = await createActorSystem({ clock, threads: { spare: true } });
  const parent = openParent(system);
  const here = parent.spawn(counterActor, { start: 0 }, { id: 'here' });
  const there = parent.spawn(counterActor, { start: 0 }, { id: 'there', ...onThread('one') });
  parent.every('tick', 1_000, () => undefined);
  const open = [here, there].map((counter) => counter.ask('never', {}, { deadlineMs: 60_000 }));
  const ended = Promise.allSettled(open);
  await there.ask('total', {});
  // The kill overtakes the stop of its children.
  parent.onStop(() => new Promise(() => undefined));
  const stopped = system.stop();
  await clock.advance(5_000);
  await ended;
  await stopped;
  expect(clock.timers).toBe(0);
  expect(system.actors()).toEqual([]);
  expect(system.threads()).toEqual([]);
  expect(here.tell('add', 1)).toBe(false);
  await expect(there.ask('total', {})).rejects.toMatchObject({ code: 'actor_terminated' });
});

test('a stop closes what each thread has opened, threads that are still starting and the spare included', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-stop-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'notes');
  const bootstrap = { module: notingBootstrap, data: file };
  // The time that a stop gives to threads does not pass: however slowly they start, they are waited for.
  const system = await createActorSystem({ clock: new ManualClock(), threads: { spare: true, bootstrap } });
  const one = system.spawn(counterActor, { start: 0 }, { id: 'one', ...onThread('one') });
  await one.ask('total', {});
  system.spawn(counterActor, { start: 0 }, { id: 'two', ...onThread('two') });
  system.spawn(counterActor, { start: 0 }, { id: 'three', ...onThread('three') });
  await system.stop();
  const notes = readFileSync(file, 'utf8').trim().split('\n');
  expect(notes.filter((note) => note === 'closed')).toHaveLength(notes.length / 2);
});

test('a stop does not wait for a thread that never gets ready', async () => {
  const bootstrap = { module: dyingBootstrap, data: 'hang' };
  const system = await openSystem({ threads: { bootstrap } });
  const counter = system.spawn(
    counterActor,
    { start: 0 },
    { id: 'counter', shutdownMs: 20, ...onThread('one') },
  );
  const asked = expect(counter.ask('total', {}, { deadlineMs: 600_000 })).rejects.toMatchObject({
    code: 'actor_terminated',
  });
  await system.stop();
  await asked;
});

test('a system that cannot start leaves nothing behind, and says why', async () => {
  const clock = new ManualClock();
  const good = { behaviour: counterActor, args: { start: 0 }, options: { id: 'good', ...onThread('one') } };
  const bad = { behaviour: counterActor, args: { start: 0, failSetup: true }, options: { id: 'bad' } };
  const supervision = { intensity: { restartsMax: 0, withinMs: 1_000 } };
  const starting = createActorSystem({
    clock,
    children: [good, bad],
    supervision,
    threads: { spare: false },
  });
  await expect(starting).rejects.toThrow('setup failed as told');
  expect(clock.timers).toBe(0);
});
