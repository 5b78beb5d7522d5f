// The runtime over the real service: the tree, the threads, the live stream; nothing is computed unless somebody looks.

import { afterAll, expect, test } from 'vitest';
import { WATCHERS_MAX } from '../../../src/actors/runtime/protocol.ts';
import { present } from '../../../src/std/assert.ts';
import { protocol, tell } from '../../../src/supervisor/protocol.ts';
import { PATIENT } from '../../support/actor-system.ts';
import { counterActor } from '../../support/counter-actor.ts';
import { openSse, type SseReader } from '../../support/sse-reader.ts';
import { type HttpAnswer, openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

const nobody = protocol('nobody', { hear: tell<object>() });

function watch(query = ''): Promise<SseReader> {
  return openSse(`${app.url}/api/runtime/stream${query}`);
}

/** Once all threads are up: on a busy machine the last one may be late. */
async function look(path: string): Promise<HttpAnswer> {
  let answer: HttpAnswer | null = null;
  await expect
    .poll(async () => {
      answer = await app.call('GET', path);
      return answer.body.threads.map(({ state }: { state: string }) => state);
    }, PATIENT)
    .toEqual(['ready', 'ready', 'ready', 'ready']);
  return present(answer as HttpAnswer | null, 'an answer');
}

/** A reader's place is free a moment after it has left. */
async function watchWhenThereIsRoom(query?: string): Promise<SseReader> {
  let reader: SseReader | null = null;
  await expect
    .poll(async () => {
      reader = await watch(query).catch(() => null);
      return reader;
    }, PATIENT)
    .not.toBeNull();
  return present(reader as SseReader | null, 'a reader');
}

test('the tree, its threads and the totals are there', async () => {
  const { status, body } = await look('/api/runtime');
  expect(status).toBe(200);
  const paths = body.tree.map((row: { path: string }) => row.path);
  expect(paths).toEqual(expect.arrayContaining(['', 'chat', 'chat/runs', 'chat/run-hosts/run-1', 'runtime']));
  expect(paths.indexOf('chat/run-hosts')).toBeLessThan(paths.indexOf('chat/run-hosts/run-1'));
  expect(body.tree.find((row: { path: string }) => row.path === 'chat/run-hosts/run-1')).toMatchObject({
    thread: 1,
    state: 'running',
    mailbox: 0,
    restarts: 0,
    last_failure: null,
    age_ms: expect.any(Number),
  });
  expect(body).toMatchObject({
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\+00:00$/),
    omitted: 0,
    totals: { actors: paths.length, rejected: 0, dead_lettered: 0, restarts: 0 },
  });
});

test('the threads are there by themselves', async () => {
  const { status, body } = await look('/api/runtime/threads');
  expect(status).toBe(200);
  expect(body.threads.slice(0, 3)).toMatchObject([
    { thread: 0, name: 'edge', state: 'ready', heap_mb: expect.any(Number) },
    { thread: 1, name: 'run-1', actors: 4 },
    { thread: 2, name: 'run-2', actors: 4 },
  ]);
});

test('a failure is shown on one line without its secrets, and its restart is counted', async () => {
  const counter = app.troupe.system.spawn(counterActor, { start: 0 }, { id: 'frail', name: 'frail' });
  counter.tell('crash', 'refused\napi_key=sk-0123456789abcdef');
  const reader = await watch('?interval_ms=250');
  const { data } = await reader.until('snapshot', ({ totals }) => totals.restarts === 1);
  expect(data.tree.find((row: { path: string }) => row.path === 'frail')).toMatchObject({
    restarts: 1,
    last_failure: 'refused api_key=***',
  });
  await reader.leave();
});

test('a watcher gets snapshots at its interval, and dead letters as they come, without what was in them', async () => {
  const reader = await watch('?interval_ms=250');
  const first = await reader.until('snapshot');
  app.troupe.system.named(nobody).tell('hear', { secret: 'nobody hears this' });
  const letter = await reader.until('dead_letter');
  expect(letter).toMatchObject({
    id: undefined,
    data: { thread: 0, target: 'nobody', message: 'hear', reason: 'unknown_name' },
  });
  expect(JSON.stringify(letter)).not.toContain('hears this');
  const second = await reader.until('snapshot', ({ totals }) => totals.dead_lettered === 1);
  expect(Date.parse(second.data.at)).toBeGreaterThan(Date.parse(first.data.at));
  await reader.leave();
  // Who comes later is told of the last minute.
  const later = await watch();
  expect((await later.until('dead_letter')).data.target).toBe('nobody');
  await later.leave();
});

test('a flood of dead letters costs a watcher the oldest, not the service its memory', async () => {
  const reader = await watch();
  await reader.until('snapshot');
  for (let n = 0; n < 5_000; n += 1) app.troupe.system.named(nobody, `nobody ${n}`).tell('hear', {});
  await reader.until('dead_letter', ({ target }) => target === 'nobody 4999');
  const missed = reader.events.filter(({ event }) => event === 'dead_letters_missed');
  const told = reader.events.filter(({ event, data }) => event === 'dead_letter' && data.target !== 'nobody');
  expect(missed.reduce((sum, { data }) => sum + data.count, told.length)).toBe(5_000);
  await reader.leave();
});

test('an interval out of bounds is refused', async () => {
  for (const interval of ['10', '3600000', 'often']) {
    await expect(watch(`?interval_ms=${interval}`)).rejects.toThrow('no event stream but 4');
  }
});

test('there is room for many watchers and a bound on them, and a place is free again when one leaves', async () => {
  const readers = await Promise.all(Array.from({ length: WATCHERS_MAX }, () => watch()));
  await expect(watch()).rejects.toThrow('no event stream but 503');
  await readers.pop()?.leave();
  const again = await watchWhenThereIsRoom();
  for (const reader of [...readers, again]) await reader.leave();
});

test('nothing is computed when nobody looks any more', async () => {
  const reader = await watchWhenThereIsRoom('?interval_ms=250');
  await reader.until('snapshot');
  await reader.leave();
  // The watch has ended when a look finds only the one before it: a question to each thread, and its answer.
  const threads = (await app.troupe.system.introspection.snapshot(PATIENT)).threads.length;
  let before = 0;
  const handledSince = async (): Promise<number> => {
    const { totals } = await app.troupe.system.introspection.snapshot(PATIENT);
    const since = totals.handled - before;
    before = totals.handled;
    return since;
  };
  await expect.poll(handledSince, { ...PATIENT, interval: 600 }).toBe(threads);
});
