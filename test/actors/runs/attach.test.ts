// Attaching to a run: from the beginning or after an event, live or finished, alone or beside others.

import { afterAll, describe, expect, test } from 'vitest';
import { numberingFlaws, orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import type { ReadEvent } from '../../support/sse-reader.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const WORDS = Array.from({ length: 40 }, (_, i) => `word${i} `);
/** Slow enough to be met alive, quick enough for a test. */
const SLOW = { text: WORDS, chunkDelayMs: 5 };

async function finishedRun(): Promise<{ readonly runId: string; readonly events: readonly ReadEvent[] }> {
  app.double.answer({ text: WORDS });
  return app.turn('Count');
}

describe('a run that is live', () => {
  test('shows every reader the same sequence, wherever it joins', async () => {
    app.double.answer(SLOW);
    const { runId, reader } = await app.start('Count');
    await reader.until('chunk');
    const joined = await Promise.all([
      app.attach(runId),
      app.attach(runId),
      app.attach(runId, { after: 0 }),
      app.attach(runId, { after: 3 }),
      app.attach(runId, { lastEventId: 4 }),
    ]);
    const [atOnce, twice, fromZero, afterThree, afterFour] = await Promise.all(
      joined.map((other) => other.rest()),
    );
    const [, ...events] = await reader.rest();
    expect(numberingFlaws(events)).toEqual([]);
    expect(textOf(events)).toBe(WORDS.join(''));
    expect(atOnce).toEqual(events);
    expect(twice).toEqual(events);
    expect(fromZero).toEqual(events);
    expect(afterThree).toEqual(events.slice(3));
    expect(afterFour).toEqual(events.slice(4));
  });

  test('goes on when the reader that started it leaves', async () => {
    app.double.answer(SLOW);
    const { runId, reader } = await app.start('Count');
    await reader.until('chunk');
    await reader.leave();
    const events = await (await app.attach(runId)).rest();
    expect(textOf(events)).toBe(WORDS.join(''));
    expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
    expect(await app.listed(runId)).toMatchObject({ status: 'done' });
  });

  test('is resumed after the last event that was read, as often as one likes', async () => {
    app.double.answer(SLOW);
    const { runId, reader } = await app.start('Count');
    const read = [await reader.until('start')];
    await reader.leave();
    while (read.at(-1)?.event !== 'close') {
      const again = await app.attach(runId, { lastEventId: read.at(-1)?.id as number });
      for await (const event of again) {
        read.push(event);
        if (read.length % 7 === 0) break;
      }
      await again.leave();
    }
    expect(numberingFlaws(read, read[0]?.id)).toEqual([]);
    expect(textOf(read)).toBe(WORDS.join(''));
  });
});

describe('a run that is over', () => {
  test('is replayed as it was, in full or after an event', async () => {
    const { runId, events } = await finishedRun();
    expect(await (await app.attach(runId)).rest()).toEqual(events);
    expect(await (await app.attach(runId, { after: 2 })).rest()).toEqual(events.slice(2));
    expect(await (await app.attach(runId, { after: 2, lastEventId: 5 })).rest()).toEqual(events.slice(5));
  });

  test('has nothing to show after its last event', async () => {
    const { runId, events } = await finishedRun();
    expect(await (await app.attach(runId, { after: events.length })).rest()).toEqual([]);
    expect(await (await app.attach(runId, { after: 1_000_000 })).rest()).toEqual([]);
  });

  test('is replayed after a restart of the service', async () => {
    const { runId, events } = await finishedRun();
    await app.restart();
    expect(await (await app.attach(runId)).rest()).toEqual(events);
  });

  test('is settled when its close is shown', async () => {
    app.double.answer({ text: 'Hello' });
    const { runId, reader } = await app.start('Hello');
    await reader.until('close');
    expect(await app.listed(runId)).toMatchObject({ status: 'done' });
  });
});

test('an unknown run: a stream of one run_missing, which is not numbered, and no close', async () => {
  const reader = await app.attach('0123456789abcdef');
  expect(reader.status).toBe(200);
  const events = await reader.rest();
  expect(events).toEqual([
    { id: undefined, event: 'run_missing', data: { run_id: '0123456789abcdef', reason: 'unknown' } },
  ]);
});

test.each(['', '?run_id='])('without a run_id (%j): 400', async (query) => {
  const { status, body } = await app.call('GET', `/api/agent/chat/stream/attach${query}`);
  expect({ status, body }).toEqual({ status: 400, body: { error: 'run_id required' } });
});

test.each(['after=-1', 'after=x', 'after=1.5', 'after=1e999', 'after='])(
  'a cursor that is no number of an event (%s): 400',
  async (query) => {
    const { status } = await app.call('GET', `/api/agent/chat/stream/attach?run_id=a&${query}`);
    expect(status).toBe(400);
  },
);

test.each(['-1', 'x', '1.5'])('a Last-Event-ID that is no number of an event (%s): 400', async (id) => {
  const url = `${app.url}/api/agent/chat/stream/attach?run_id=a&after=2`;
  const { status } = await fetch(url, { headers: { 'last-event-id': id } });
  expect(status).toBe(400);
});

test('the stream says that it is one, and is not to be cached or held back', async () => {
  const { runId } = await finishedRun();
  const reader = await app.attach(runId);
  expect(Object.fromEntries(reader.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  expect(payloadOf(await reader.rest(), 'close')).toEqual({});
});
