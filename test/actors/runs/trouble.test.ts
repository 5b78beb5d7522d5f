// Trouble in the wrong moment: a disk that is full, a host that is gone, a record that cannot be settled. R5 holds.

import { describe, expect, test } from 'vitest';
import { conversations } from '../../../src/actors/conversations/protocol.ts';
import { PATIENCE_MS } from '../../../src/actors/runs/patience.ts';
import { runHost, runs } from '../../../src/actors/runs/protocol.ts';
import { openRunStore, type RunRecord } from '../../../src/actors/runs/store.ts';
import { isFault } from '../../../src/std/errors.ts';
import { storageFaults } from '../../../src/storage/faults.ts';
import type { Address } from '../../../src/supervisor/protocol.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { eventually } from '../../support/eventually.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { numberingFlaws, orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import { openRunsSystem, USER } from '../../support/runs-system.ts';
import { fillableDisk, tampered, unflushableDisk } from '../../support/tampered-storage.ts';

describe('a disk that is full', () => {
  test('keeps a finished run live until it can be settled; the directory goes on', async () => {
    const disk = fillableDisk('write');
    const app = await openRunsSystem({
      storage: disk.storage,
      script: [
        { text: ['First', '.'], fault: { kind: 'stall', afterChunks: 1 } },
        { text: 'Second.', fault: { kind: 'silence' } },
      ],
    });
    const quiet = { use_memory: false };
    const first = await app.start({ message: 'One', ...quiet });
    const second = await app.start({ message: 'Two', ...quiet });
    const events = app.events(first);
    await events.until('chunk');
    disk.isFull = true;
    app.double.release();
    await events.until('done');
    await expect(app.start({ message: 'Three' })).rejects.toMatchObject({ code: 'storage_full' });
    expect(await app.status(first)).toBe('running');
    disk.isFull = false;
    await events.until('close');
    expect(await app.status(first)).toBe('done');
    expect(textOf(await app.events(second).rest())).toBe('Second.');
  });

  test('in the middle of a journal makes the run wait: it goes on where it stood, and nothing is missing', async () => {
    const clock = new ManualClock();
    const disk = fillableDisk('append');
    const app = await openRunsSystem({
      clock,
      storage: disk.storage,
      script: { text: ['One ', 'two ', 'three '], fault: { kind: 'stall', afterChunks: 1 } },
    });
    const runId = await app.start({ message: 'Count', session_id: 'waits' });
    const reader = app.events(runId);
    await reader.until('chunk');
    disk.isFull = true;
    app.double.release();
    for (let more = 1; more <= 20; more += 1) {
      await eventually(() => disk.refusals).toBeGreaterThanOrEqual(more);
      await clock.advance(1_000);
    }
    expect(await app.status(runId)).toBe('running');
    disk.isFull = false;
    await clock.advance(1_000);
    const events = await reader.rest();
    expect(textOf(events)).toBe('One two three ');
    expect(numberingFlaws(events)).toEqual([]);
    expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
    expect((await app.rows('waits')).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  test('for longer than a run may stand still ends it with that reason, and without a gap in its numbers', async () => {
    const clock = new ManualClock();
    const disk = fillableDisk('append');
    const app = await openRunsSystem({
      clock,
      storage: disk.storage,
      script: { text: ['One ', 'two ', 'three '], fault: { kind: 'stall', afterChunks: 1 } },
    });
    const runId = await app.start({ message: 'Count', session_id: 'cut' });
    const reader = app.events(runId);
    await reader.until('chunk');
    disk.isFull = true;
    app.double.release();
    await eventually(() => disk.refusals).toBe(1);
    await clock.advance(PATIENCE_MS + 2_000);
    disk.isFull = false;
    await clock.advance(2_000);
    const events = await reader.rest();
    expect(numberingFlaws(events)).toEqual([]);
    expect(orderOf(events).slice(-2)).toEqual(['error', 'close']);
    expect(payloadOf(events, 'error')).toEqual({ error: 'the disk is full', code: 'run_lost' });
    expect(await app.status(runId)).toBe('failed');
    expect(await app.rows('cut')).toMatchObject([
      { role: 'user', content: 'Count' },
      { role: 'assistant', content: 'One', metadata: { interrupted: true } },
    ]);
  });

  test('fails the admission of a run, and leaves none behind', async () => {
    const disk = fillableDisk('write');
    const app = await openRunsSystem({
      storage: disk.storage,
    });
    disk.isFull = true;
    await expect(app.start({ message: 'Hello' })).rejects.toMatchObject({ code: 'storage_full' });
    disk.isFull = false;
    const status = await app.system.named(runs).ask('agent_status', {});
    expect(status).toMatchObject({ active_sessions: 0 });
  });
});

describe('a disk that takes a commit and fails to flush it', () => {
  test('leaves nothing behind of a run that was refused', async () => {
    const disk = unflushableDisk('runs');
    const clock = new ManualClock();
    const app = await openRunsSystem({ clock, storage: disk.storage });
    disk.failures = 1;
    await expect(app.start({ message: 'Hello' })).rejects.toMatchObject({ code: 'storage_full' });
    const listed = async () => (await app.system.named(runs).ask('list', { user_id: USER })).runs;
    await eventually(listed).toEqual([]);
  });

  test('does not keep a job waiting for a run that was refused', async () => {
    const disk = unflushableDisk('runs');
    const clock = new ManualClock();
    const app = await openRunsSystem({ clock, storage: disk.storage });
    const launch = () =>
      app.system.named(runs).ask('launch', {
        run_id: '00ddba11deadbeef',
        user_id: USER,
        request: { message: 'Hello', model: 'lmstudio:double-1' },
        origin: 'job',
      });
    disk.failures = 2; // That the record is taken back fails likewise.
    await expect(launch()).rejects.toMatchObject({ code: 'storage_full' });
    await eventually(() => disk.failures).toBe(0);
    await launch();
    const asked = { run_id: '00ddba11deadbeef', user_id: USER };
    expect(await app.system.named(runs).ask('outcome', asked)).toMatchObject({ status: 'done' });
    await clock.advance(10_000); // It is tried again, when the run of the second launch is over.
    for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
    expect(await app.system.named(runs).ask('outcome', asked)).toMatchObject({ status: 'done' });
  });
});

test('a tool is not called before its call is in the journal', async () => {
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const app = await openRunsSystem({
    storage: tampered({
      async append(entries) {
        if (!entries.some((entry) => (entry as readonly string[])[0] === 'tool_call')) return;
        reached.resolve();
        await held.promise;
      },
    }),
    script: [{ toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'x' } }] }, { text: 'Noted.' }],
  });
  const runId = await app.start({ message: 'Note it', session_id: 'held' });
  const scratchpad = async (): Promise<string> => {
    const asked = { conversation_id: 'held', replace: false };
    return (await app.system.named(conversations).ask('scratchpad', asked)).text;
  };
  await reached.promise;
  // Long enough for a call that does not wait: it takes a few turns of the event loop and a commit.
  for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
  expect(await scratchpad()).toBe('');
  held.resolve();
  expect(textOf(await app.events(runId).rest())).toBe('Noted.');
  expect(await scratchpad()).toBe('x');
});

describe('a tool that does not end', () => {
  test('does not keep a run from being cancelled', async () => {
    const writing = Promise.withResolvers<void>();
    let isTool = false;
    const app = await openRunsSystem({
      storage: tampered({
        // The tool's own: the engine, say, is entered about this time, too.
        async written(tables) {
          if (!isTool || !tables.has('conversation_memories')) return;
          isTool = false;
          writing.resolve();
          await new Promise(() => undefined);
        },
      }),
      script: {
        text: 'I note it.',
        toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'x' } }],
        fault: { kind: 'stall', afterChunks: 1 },
      },
    });
    const run_id = await app.start({ message: 'Note it', session_id: 'stuck' });
    const events = app.events(run_id);
    await events.until('chunk');
    isTool = true;
    app.double.release();
    await writing.promise;
    await app.system.named(runs).ask('cancel', { run_id, user_id: USER });
    const rest = await events.rest();
    expect(orderOf(rest).slice(-3)).toEqual(['tool_call', 'tool_result', 'close']);
    expect(payloadOf(rest, 'tool_result').success).toBe(false);
    expect(await app.status(run_id)).toBe('cancelled');
    expect((await app.rows('stuck')).map(({ role }) => role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
  });
});

describe('a bug in the directory', () => {
  test('costs the runs that are live, which are settled; the next ones are served', async () => {
    let isBroken = false;
    const app = await openRunsSystem({
      storage: tampered({
        put(table) {
          if (!isBroken || table !== 'runs') return;
          isBroken = false;
          throw new TypeError('a bug');
        },
      }),
      script: [
        { text: ['All of it', '.'], fault: { kind: 'stall', afterChunks: 1 } },
        { text: 'Hello again.' },
      ],
    });
    const first = await app.start({ message: 'Psst', use_memory: false });
    const events = app.events(first);
    await events.until('chunk');
    isBroken = true;
    app.double.release();
    await expect(events.rest()).rejects.toMatchObject({ code: 'actor_terminated' });
    const second = await retried(() => app.start({ message: 'Hello?' }));
    expect(textOf(await app.events(second).rest())).toBe('Hello again.');
    expect(await app.status(first)).toBe('done');
    expect(orderOf(await app.events(first).rest()).slice(-2)).toEqual(['done', 'close']);
  });
});

test('turns go on in the order in which they came when the directory starts again, whatever the clock said', async () => {
  let isBroken = false;
  const clock = new JumpingClock();
  const app = await openRunsSystem({
    clock,
    storage: tampered({
      put(table) {
        if (!isBroken || table !== 'runs') return;
        isBroken = false;
        throw new TypeError('a bug');
      },
    }),
    script: ({ body }) => ({
      text: `Re: ${body.messages?.at(-1)?.content}`,
      fault: { kind: 'silence' },
    }),
  });
  // Twice some of them in one millisecond, and an hour between that has not been.
  const turns = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const ids: string[] = [];
  for (const message of turns) {
    ids.push(await app.start({ message, session_id: 'queued' }));
    if (message === '4') clock.jump(-3_600_000);
  }
  isBroken = true;
  await expect(app.start({ message: 'Hello?' })).rejects.toMatchObject({ code: 'actor_crashed' });
  await retried(() => app.status('any'));
  app.double.release();
  for (const id of ids) await app.events(id).rest();
  expect((await app.rows('queued')).map(({ content }) => content)).toEqual(
    turns.flatMap((message) => [message, `Re: ${message}`]),
  );
});

test.each([
  ['is written soon', 0],
  ['takes longer than the run may take to stop', 60_000],
])('a run that crashes while what it said %s is settled behind all of that', async (_, laterMs) => {
  const clock = new ManualClock();
  const writing = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  const settling = Promise.withResolvers<void>();
  const settled = Promise.withResolvers<void>();
  const app = await openRunsSystem({
    clock,
    storage: tampered({
      async append(entries) {
        const names = entries.map((entry) => (entry as readonly string[])[0]);
        if (names.includes('steer')) {
          writing.resolve();
          await written.promise;
        }
        if (names.includes('error')) {
          settling.resolve();
          await settled.promise;
        }
        // The step behind the tools: no event.
        if (names.includes(undefined)) {
          await writing.promise;
          throw new TypeError('a bug');
        }
      },
    }),
    script: { toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'x' } }] },
  });
  const run_id = await app.start({ message: 'Note it', session_id: 'crashed' });
  const events = app.events(run_id);
  await events.until('tool_result');
  const steering = app.system.named(runs).ask('steer', { run_id, message: 'And y', user_id: USER });
  // However it ends, and whenever.
  const steered = Promise.allSettled([steering]);
  await writing.promise;
  const isSettling = settling.promise.then(() => true);
  for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
  await clock.advance(laterMs);
  for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
  written.resolve();
  await steered;
  for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
  settled.resolve();
  expect(await isSettling).toBe(true);
  const all = await events.rest();
  expect(numberingFlaws(all)).toEqual([]);
  expect(orderOf(all).slice(-3)).toEqual(['steer', 'error', 'close']);
});

describe('a run host that is gone', () => {
  test('leaves none of its runs to be taken up before all is written that they have said', async () => {
    const clock = new ManualClock();
    const writing = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const app = await openRunsSystem({
      clock,
      storage: tampered({
        async append(entries) {
          if (!entries.some((entry) => (entry as readonly string[])[0] === 'steer')) return;
          writing.resolve();
          await written.promise;
        },
      }),
      script: [{ text: ['Half', ' of it'], fault: { kind: 'stall', afterChunks: 1 } }, { text: 'Never.' }],
    });
    const run_id = await app.start({ message: 'Hello', session_id: 'taken up' });
    const events = app.events(run_id);
    await events.until('chunk');
    const steered = Promise.allSettled([
      app.system.named(runs).ask('steer', { run_id, message: 'And?', user_id: USER }),
    ]);
    await writing.promise;
    const { actors } = await app.system.introspection.snapshot();
    const path = actors.find((actor) => actor.path.endsWith(run_id))?.path.replace(`/${run_id}`, '');
    const address = actors.find((actor) => actor.path === path)?.address as Address;
    // A bug of the host: it cannot read this.
    app.system.refTo(runHost, address).tell('cancel', null as never);
    await clock.advance(3_000);
    for (let write = 0; write < 20; write += 1) await app.storage.write('flushed', () => undefined);
    written.resolve();
    await steered;
    const all = await events.rest();
    expect(numberingFlaws(all)).toEqual([]);
    expect(orderOf(all).slice(-3)).toEqual(['steer', 'error', 'close']);
  });

  test('while a run is being accepted: the run begins on another one', async () => {
    const held = Promise.withResolvers<void>();
    const writing = Promise.withResolvers<void>();
    let isHeld = false;
    const app = await openRunsSystem({
      threads: true,
      storage: tampered({
        async write() {
          if (!isHeld) return;
          writing.resolve();
          await held.promise;
        },
      }),
    });
    isHeld = true;
    const starting = app.start({ message: 'Hello' });
    await writing.promise;
    const host = app.system.threads().find(({ name }) => name === 'run-1');
    await app.system.terminateThread(host?.thread as number);
    isHeld = false;
    held.resolve();
    const runId = await starting;
    const events = await app.events(runId).rest();
    expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
    expect(await app.status(runId)).toBe('done');
  });
});

test('a steer that could not be written down is not accepted', async () => {
  const app = await openRunsSystem({
    storage: tampered({
      async append(entries) {
        if (entries.some((entry) => (entry as readonly string[])[0] === 'steer'))
          throw storageFaults.storage_damaged('it cannot be written');
      },
    }),
    script: { text: 'Never.', fault: { kind: 'silence' } },
  });
  const run_id = await app.start({ message: 'Where?' });
  const events = app.events(run_id);
  await events.until('start');
  const steering = app.system.named(runs).ask('steer', { run_id, message: 'And when?', user_id: USER });
  await expect(steering).rejects.toMatchObject({ code: 'run_not_active' });
  const all = orderOf(await events.rest());
  expect(all).not.toContain('steer');
  expect(all.slice(-2)).toEqual(['error', 'close']);
});

test('runs end though journals turn out to be damaged meanwhile, and nobody is taken down with them', async () => {
  let isDamaged = false;
  const app = await openRunsSystem({
    storage: tampered({
      readJournal() {
        if (isDamaged) throw storageFaults.storage_damaged('a journal cannot be read');
      },
    }),
    script: { text: ['One ', 'two'], fault: { kind: 'stall', afterChunks: 1 } },
  });
  const ids = [await app.start({ message: 'Count' }), await app.start({ message: 'Count again' })];
  for (const id of ids) await app.events(id).until('chunk');
  isDamaged = true;
  app.double.release();
  for (const id of ids) await eventually(() => app.status(id)).toBe('done');
  await eventually(() => app.system.introspection.getState('chat/runs')).toEqual({ live: 0, waiting: 0 });
  expect(app.system.counters().restarts).toBe(0);
});

test('a cancel reaches a run though its host has no room for more mail at the moment', async () => {
  const app = await openRunsSystem({ script: { text: 'Never.', fault: { kind: 'silence' } } });
  const run_id = await app.start({ message: 'Wait' });
  const events = app.events(run_id);
  await events.until('start');
  const { introspection } = app.system;
  const { actors } = await introspection.snapshot();
  const path = actors.find((actor) => actor.path.endsWith(run_id))?.path.replace(`/${run_id}`, '') as string;
  const host = app.system.refTo(runHost, actors.find((actor) => actor.path === path)?.address as Address);
  await introspection.suspend(path);
  while (host.tell('cancel', { run_id: 'nobody', cause: 'cancelled' }));
  const { cancel_requested } = await app.system.named(runs).ask('cancel', { run_id, user_id: USER });
  expect(cancel_requested).toBe(true);
  await introspection.resume(path);
  expect(orderOf(await events.rest()).at(-1)).toBe('close');
  expect(await app.status(run_id)).toBe('cancelled');
});

describe('runs that the last process left running', () => {
  const left = (run_id: string, record: Partial<RunRecord> = {}): RunRecord => ({
    run_id,
    user_id: USER,
    session_id: run_id,
    origin: 'stream',
    resumes: 0,
    status: 'running',
    request: { message: `Hello from ${run_id}` },
    createdAtMs: Date.now(),
    updatedAtMs: Date.now(),
    ...record,
  });

  test('are settled before anybody is served, one that cannot be filed too', async () => {
    const records = [left('one'), left('two', { session_id: 'x'.repeat(500) }), left('three')];
    const app = await openRunsSystem({
      async left(storage) {
        const store = openRunStore(storage);
        await storage.write('committed', (tx) => {
          for (const record of records) tx.put(store.records, record.run_id, record);
        });
        for (const { run_id } of records.slice(0, 2)) {
          await store.journals.append(run_id, 1, [['chunk', JSON.stringify({ content: 'Half' })]]);
        }
        await store.journals.append('three', 1, [
          ['chunk', JSON.stringify({ content: 'All of it.' })],
          ['done', '{}'],
        ]);
      },
    });
    expect(await Promise.all(records.map(({ run_id }) => app.status(run_id)))).toEqual([
      'failed',
      'failed',
      'done',
    ]);
    expect(orderOf(await app.events('one').rest())).toEqual(['chunk', 'error', 'close']);
    expect(orderOf(await app.events('two').rest())).toEqual(['chunk', 'error', 'close']);
    expect(orderOf(await app.events('three').rest())).toEqual(['chunk', 'done', 'close']);
    expect(await app.rows('one')).toMatchObject([
      { role: 'user', content: 'Hello from one' },
      { role: 'assistant', content: 'Half', metadata: { interrupted: true } },
    ]);
  });

  test('are settled though the journal of one of them is damaged', async () => {
    const app = await openRunsSystem({
      storage: tampered({
        readJournal(journal) {
          if (journal === 'one') throw storageFaults.storage_damaged('a journal cannot be read');
        },
      }),
      async left(storage) {
        const store = openRunStore(storage);
        await storage.write('committed', (tx) => {
          for (const run_id of ['one', 'two']) tx.put(store.records, run_id, left(run_id));
        });
        for (const run_id of ['one', 'two']) {
          await store.journals.append(run_id, 1, [['chunk', JSON.stringify({ content: 'Half' })]]);
        }
      },
    });
    expect(await app.status('one')).toBe('failed');
    expect(await app.rows('one')).toMatchObject([{ role: 'user', content: 'Hello from one' }]);
    await expect(app.events('one').rest()).rejects.toMatchObject({ code: 'storage_damaged' });
    expect(orderOf(await app.events('two').rest())).toEqual(['chunk', 'error', 'close']);
    const next = await app.start({ message: 'Hello', session_id: 'one' });
    expect(textOf(await app.events(next).rest())).toBe('Hello from the double.');
  });

  test('are settled though the conversation of one of them is damaged', async () => {
    let isDamaged = true;
    const app = await openRunsSystem({
      storage: tampered({
        read(table) {
          if (isDamaged && table === 'conversations')
            throw storageFaults.storage_damaged('it cannot be read');
        },
      }),
      async left(storage) {
        const store = openRunStore(storage);
        await storage.write('committed', (tx) => tx.put(store.records, 'one', left('one')));
        await store.journals.append('one', 1, [['status', JSON.stringify({ phase: 'thinking' })]]);
      },
    });
    isDamaged = false;
    expect(orderOf(await app.events('one').rest())).toEqual(['status(thinking)', 'error', 'close']);
    expect(await app.status('one')).toBe('failed');
  });

  test('may be cancelled while it cannot be said yet whether they go on', async () => {
    const clock = new ManualClock();
    let isBusy = true;
    const app = await openRunsSystem({
      clock,
      storage: tampered({
        read(table) {
          if (isBusy && table === 'conversations') throw storageFaults.storage_busy('too much to do');
        },
      }),
      async left(storage) {
        const store = openRunStore(storage);
        await storage.write('committed', (tx) => tx.put(store.records, 'one', left('one')));
        await store.journals.append('one', 1, [['status', JSON.stringify({ phase: 'thinking' })]]);
      },
    });
    const cancelled = await app.system.named(runs).ask('cancel', { run_id: 'one', user_id: USER });
    expect(cancelled.cancel_requested).toBe(true);
    isBusy = false;
    await clock.advance(2_000);
    expect(orderOf(await app.events('one').rest())).toEqual(['status(thinking)', 'close']);
    expect(await app.status('one')).toBe('cancelled');
    expect(app.double.requestCount).toBe(0);
  });
});

/** Asks again while nobody is there to answer, as a client does with a 503. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isFault(error) || !error.retryable) throw error;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
