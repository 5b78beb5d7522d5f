// Turns that wait, in the directory alone: other users, many at once, and a disk that is full.

import { expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { runs } from '../../../src/actors/runs/protocol.ts';
import { numberingFlaws, orderOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { openRunsSystem, type RunsSystem, USER } from '../../support/runs-system.ts';
import { fillableDisk, tampered } from '../../support/tampered-storage.ts';

const SILENT = { text: 'Hello.', fault: { kind: 'silence' } } as const;

const configure = ({ system }: RunsSystem, settings: Readonly<Record<string, unknown>>) =>
  system.named(config).ask('update', { runs: settings });

test("another user's text for a busy conversation is not folded into its turn: it waits", async () => {
  const app = await openRunsSystem({ script: SILENT });
  await configure(app, { on_busy: 'steer' });
  const first = await app.start({ message: 'one', session_id: 'shared' });
  await app.events(first).until('start');
  const second = await app.start({ message: 'two', session_id: 'shared' }, 'eve');
  expect(second).not.toBe(first);
  app.double.release();
  const events = await app.events(second, { userId: 'eve' }).rest();
  expect(orderOf(events)[0]).toBe('status(queued)');
  expect((await app.rows('shared')).map(({ content }) => content)).toEqual([
    'one',
    'Hello.',
    'two',
    'Hello.',
  ]);
});

test('a user with many turns does not keep another one waiting for all of them', async () => {
  const app = await openRunsSystem({ script: SILENT });
  await configure(app, { live_max: 1 });
  const many = [];
  for (let i = 0; i < 10; i += 1) many.push(await app.start({ message: `mine ${i}` }));
  const other = await app.start({ message: 'hers' }, 'eve');
  app.double.release();
  await Promise.all([
    ...many.map((id) => app.events(id).rest()),
    app.events(other, { userId: 'eve' }).rest(),
  ]);
  const order = app.double.requests.map(({ body }) => body.messages?.at(-1)?.content);
  expect(order.slice(0, 3)).toEqual(['mine 0', 'mine 1', 'hers']);
  expect(order.slice(3)).toEqual(Array.from({ length: 8 }, (_, i) => `mine ${i + 2}`));
});

test('hundreds begin when the limit is raised, each once, each with all its events', async () => {
  const app = await openRunsSystem({ script: SILENT, requestsKeptMax: 0 });
  await configure(app, { live_max: 1 });
  const ids = await Promise.all(Array.from({ length: 300 }, (_, i) => app.start({ message: `${i}` })));
  app.double.release();
  await configure(app, { live_max: 300 });
  const all = await Promise.all(ids.map((id) => app.events(id).rest()));
  expect(all.map(textOf)).toEqual(ids.map(() => 'Hello.'));
  expect(all.flatMap((events) => numberingFlaws(events))).toEqual([]);
  expect(app.double.requestCount).toBe(300);
});

test('a steer that cannot be written is refused and leaves no trace; the turn begins nevertheless', async () => {
  const disk = fillableDisk('append');
  const app = await openRunsSystem({ script: SILENT, storage: disk.storage });
  await configure(app, { live_max: 1 });
  const first = await app.start({ message: 'one' });
  const second = await app.start({ message: 'two' });
  const reader = app.events(second);
  await reader.until('status');
  const steer = (message: string) =>
    app.system.named(runs).ask('steer', { run_id: second, message, user_id: USER });
  await steer('kept');
  disk.isFull = true;
  await expect(steer('lost')).rejects.toMatchObject({ code: 'storage_full' });
  disk.isFull = false;
  await steer('kept, too');
  app.double.release();
  const events = await reader.rest();
  expect(numberingFlaws(events)).toEqual([]);
  expect(payloadsOf(events, 'steer').map(({ message }) => message)).toEqual(['kept', 'kept, too']);
  expect(orderOf(events).at(-1)).toBe('close');
  const asked = app.double.requests.at(-1)?.body.messages ?? [];
  expect(asked.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
    'two',
    'kept',
    'kept, too',
  ]);
  await app.events(first).rest();
});

test('a turn says that it waits before all else, or not at all', async () => {
  const app = await openRunsSystem();
  await configure(app, { live_max: 1 });
  const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => app.start({ message: `${i}` })));
  for (const id of ids) {
    const names = orderOf(await app.events(id).rest());
    expect(names.lastIndexOf('status(queued)')).toBeLessThanOrEqual(0);
  }
});

test('a blocking chat that is being accepted when the service stops is told so', async () => {
  const held = Promise.withResolvers<void>();
  const writing = Promise.withResolvers<void>();
  let isHeld = false;
  const app = await openRunsSystem({
    storage: tampered({
      async write() {
        if (!isHeld) return;
        writing.resolve();
        await held.promise;
      },
    }),
  });
  isHeld = true;
  const directory = app.system.named(runs);
  const chat = directory.ask('chat', { message: 'Hello', model: 'lmstudio:double-1', user_id: USER });
  const refused = expect(chat).rejects.toMatchObject({ code: 'service_stopped' });
  await writing.promise;
  const drained = directory.ask('drain', { withinMs: 1_000 });
  expect(await drained).toEqual({ liveCount: 0 });
  isHeld = false;
  held.resolve();
  await refused;
  await expect(app.start({ message: 'Hello' })).rejects.toMatchObject({ code: 'runs_full' });
});

test('who waits for the reply of a run that is left to the next start is told so', async () => {
  const app = await openRunsSystem({ script: SILENT });
  await configure(app, { live_max: 1, on_busy: 'steer' });
  const first = await app.start({ message: 'one' });
  await app.start({ message: 'two', session_id: 'waits' });
  const directory = app.system.named(runs);
  const said = { message: 'three', model: 'lmstudio:double-1', session_id: 'waits', user_id: USER };
  const refused = expect(directory.ask('chat', said)).rejects.toMatchObject({ code: 'service_stopped' });
  await app.double.received(0);
  await app.events(first).until('start');
  app.double.release();
  expect(await directory.ask('drain', { withinMs: 60_000 }, { deadlineMs: 60_000 })).toEqual({
    liveCount: 0,
  });
  await refused;
});
