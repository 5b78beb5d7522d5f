// Turns that wait: for a place, or for the turn before them in their conversation.

import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { DoubleRequest } from '../../support/provider-double.ts';
import { numberingFlaws, orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { type ChatOptions, DOUBLE_MODEL, openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());
beforeEach(() => app.configure({ runs: { live_max: 10_000, queue_max: 10_000, on_busy: 'queue' } }));

const saidLast = ({ body }: DoubleRequest): string => String(body.messages?.at(-1)?.content ?? '');

/** A turn "one", whose model has been asked, and answers when it is released. All other turns are answered at once. */
async function startHeld(options: ChatOptions = {}) {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  app.double.answer(async (request) => {
    if (saidLast(request) === 'one') {
      asked.resolve();
      await released.promise;
    }
    return { text: `answer to ${saidLast(request)}` };
  });
  const turn = await app.start('one', options);
  await asked.promise;
  return { ...turn, release: () => released.resolve() };
}

const contents = async (conversation: string): Promise<string[]> =>
  (await app.messages(conversation)).map(({ content }) => content);

describe('a turn beyond the limit of live ones', () => {
  test('is accepted, says that it is queued, is listed as running, and begins when a place is free', async () => {
    await app.configure({ runs: { live_max: 1 } });
    const first = await startHeld();
    const second = await app.start('two');
    const queued = await second.reader.until('status');
    expect(queued).toEqual({
      id: 1,
      event: 'status',
      data: { phase: 'queued', label: 'Queued…', detail: 'Waits for a free place' },
    });
    expect(await app.listed(second.runId)).toMatchObject({ status: 'running' });
    first.release();
    const [, ...events] = await second.reader.rest();
    expect(numberingFlaws(events)).toEqual([]);
    expect(orderOf(events).slice(0, 3)).toEqual(['status(queued)', 'status(recalling)', 'status(composing)']);
    expect(textOf(events)).toBe('answer to two');
    expect(await (await app.attach(second.runId)).rest()).toEqual(events);
    await first.reader.rest();
  });

  test('begins as soon as the limit is raised', async () => {
    await app.configure({ runs: { live_max: 1 } });
    const first = await startHeld();
    const second = await app.start('two');
    await second.reader.until('status');
    await app.configure({ runs: { live_max: 2 } });
    expect(textOf(await second.reader.rest())).toBe('answer to two');
    first.release();
    await first.reader.rest();
  });

  test('is refused with 503 and a Retry-After when as many wait as may; a blocking chat, too', async () => {
    await app.configure({ runs: { live_max: 1, queue_max: 1 } });
    const first = await startHeld();
    const second = await app.start('two');
    for (const path of ['/api/agent/chat/stream', '/api/agent/chat']) {
      const refused = await app.call('POST', path, { message: 'three', model: DOUBLE_MODEL });
      expect(refused).toMatchObject({ status: 503, body: { error: 'No more runs are taken at the moment' } });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    first.release();
    await Promise.all([first.reader.rest(), second.reader.rest()]);
    expect(textOf((await app.turn('three')).events)).toBe('answer to three');
  });

  test('is cancelled before it begins: the model is not asked, the question is kept', async () => {
    await app.configure({ runs: { live_max: 1 } });
    const first = await startHeld();
    const second = await app.start('two', { session_id: 'cancelled-in-time' });
    await second.reader.until('status');
    expect((await app.cancel(second.runId)).body).toMatchObject({ cancel_requested: true });
    const [, ...events] = await second.reader.rest();
    expect(orderOf(events)).toEqual(['status(queued)', 'close']);
    expect(numberingFlaws(events)).toEqual([]);
    expect(await app.listed(second.runId)).toMatchObject({ status: 'cancelled' });
    expect((await app.cancel(second.runId)).body).toMatchObject({
      cancel_requested: false,
      status: 'cancelled',
    });
    expect(await contents('cancelled-in-time')).toEqual(['two']);
    const asked = app.double.requestCount;
    first.release();
    await first.reader.rest();
    await app.turn('three');
    expect(app.double.requestCount).toBe(asked + 1);
  });

  test('takes steers, ten of them, and folds them in', async () => {
    await app.configure({ runs: { live_max: 1 } });
    const first = await startHeld();
    const second = await app.start('two', { session_id: 'steered-before' });
    const steers = Array.from({ length: 10 }, (_, i) => `steer ${i}`);
    for (const text of steers) expect((await app.steer(second.runId, text)).status).toBe(200);
    expect((await app.steer(second.runId, 'one too many')).status).toBe(409);
    first.release();
    const [, ...events] = await second.reader.rest();
    expect(numberingFlaws(events)).toEqual([]);
    expect(payloadsOf(events, 'steer').map(({ message }) => message)).toEqual(steers);
    expect(orderOf(events).slice(0, 12)).toEqual([
      'status(queued)',
      ...steers.map(() => 'steer'),
      'status(recalling)',
    ]);
    expect(await contents('steered-before')).toEqual([
      'two',
      ...steers,
      'answer to two\n\nanswer to steer 9',
    ]);
    await first.reader.rest();
  });

  test('is a blocking chat that waits, too', async () => {
    await app.configure({ runs: { live_max: 1 } });
    const first = await startHeld();
    const chat = app.call('POST', '/api/agent/chat', { message: 'two', model: DOUBLE_MODEL });
    // Somebody who comes later, and waits visibly.
    const last = await app.start('three');
    await last.reader.until('status');
    first.release();
    expect(await chat).toMatchObject({ status: 200, body: { answer: 'answer to two' } });
    await Promise.all([first.reader.rest(), last.reader.rest()]);
  });
});

describe('a turn of a conversation that has one under way', () => {
  test('waits for it, knows what was said in it, and takes no place from others', async () => {
    await app.configure({ runs: { live_max: 2 } });
    const session_id = 'in-order';
    const first = await startHeld({ session_id });
    const second = await app.start('two', { session_id });
    expect((await second.reader.until('status')).data.detail).toBe(
      'Waits for the turn before it in this conversation',
    );
    expect(textOf((await app.turn('elsewhere')).events)).toBe('answer to elsewhere');
    first.release();
    await second.reader.rest();
    expect(
      app.double.requests
        .at(-1)
        ?.body.messages?.slice(-3)
        .map(({ content }) => content),
    ).toEqual(['one', 'answer to one', 'two']);
    expect(await contents(session_id)).toEqual(['one', 'answer to one', 'two', 'answer to two']);
    await first.reader.rest();
  });

  test('is one of twenty that were sent at once, and none is mixed with another', async () => {
    let open = 0;
    let openMax = 0;
    app.double.answer(async (request) => {
      open += 1;
      openMax = Math.max(open, openMax);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return { text: [`answer `, `to ${saidLast(request)}`] };
    });
    const session_id = 'twenty';
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, i) => app.turn(`question ${i}`, { session_id })),
    );
    expect(openMax).toBe(1);
    expect(turns.flatMap(({ events }) => numberingFlaws(events))).toEqual([]);
    const rows = await contents(session_id);
    const questions = rows.filter((_, i) => i % 2 === 0);
    expect(rows).toEqual(questions.flatMap((question) => [question, `answer to ${question}`]));
    expect(new Set(questions).size).toBe(20);
    // Each turn has read all that stood before it.
    const prompts = app.double.requests.slice(-20).map(({ body }) => body.messages ?? []);
    expect(prompts.map((messages) => messages.filter(({ role }) => role === 'user').length)).toEqual(
      questions.map((_, i) => i + 1),
    );
  });

  test('that is not stored waits in the same way, and knows the turn before it', async () => {
    const ephemeral = { session_id: 'unstored', use_memory: false };
    const first = await startHeld(ephemeral);
    const second = await app.start('two', ephemeral);
    expect(orderOf([await second.reader.until('status')])).toEqual(['status(queued)']);
    first.release();
    await second.reader.rest();
    expect(
      app.double.requests
        .at(-1)
        ?.body.messages?.slice(-3)
        .map(({ content }) => content),
    ).toEqual(['one', 'answer to one', 'two']);
    await first.reader.rest();
  });

  test('begins when the one before it is cancelled', async () => {
    const session_id = 'after-a-cancel';
    const first = await startHeld({ session_id });
    const second = await app.start('two', { session_id });
    await app.cancel(first.runId);
    expect(textOf(await second.reader.rest())).toBe('answer to two');
    expect(await contents(session_id)).toEqual(['one', 'two', 'answer to two']);
    first.release();
    await first.reader.rest();
  });
});

describe('with runs.on_busy at reject, a second turn of a conversation', () => {
  test('is refused with 409, streamed or blocking; other conversations and later turns are not', async () => {
    await app.configure({ runs: { on_busy: 'reject' } });
    const session_id = 'rejecting';
    const first = await startHeld({ session_id });
    for (const path of ['/api/agent/chat/stream', '/api/agent/chat']) {
      const refused = await app.call('POST', path, { message: 'two', model: DOUBLE_MODEL, session_id });
      expect(refused).toMatchObject({
        status: 409,
        body: { error: 'Another turn of this conversation is under way' },
      });
    }
    expect(textOf((await app.turn('elsewhere')).events)).toBe('answer to elsewhere');
    first.release();
    await first.reader.rest();
    expect(textOf((await app.turn('two', { session_id })).events)).toBe('answer to two');
  });

  test('is refused when both come at once', async () => {
    await app.configure({ runs: { on_busy: 'reject' } });
    app.double.answer({ text: 'Hello.' });
    const body = { message: 'Hello', model: DOUBLE_MODEL, session_id: 'at-once' };
    const answers = await Promise.all([1, 2, 3].map(() => app.call('POST', '/api/agent/chat', body)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  });
});

describe('with runs.on_busy at steer, a second text for a conversation', () => {
  test('is folded into the turn under way, which its sender reads from there', async () => {
    await app.configure({ runs: { on_busy: 'steer' } });
    const session_id = 'steering';
    const first = await startHeld({ session_id });
    await first.reader.until('start');
    const second = await app.start(' two ', { session_id });
    expect(second.runId).toBe(first.runId);
    first.release();
    const [, ...seen] = await second.reader.rest();
    const [, ...events] = await first.reader.rest();
    expect(payloadOf(events, 'steer').message).toBe('two');
    expect(orderOf(seen)).not.toContain('start');
    expect(seen).toEqual(events.slice(-seen.length));
    expect(payloadOf(seen, 'steer').message).toBe('two');
    expect(await contents(session_id)).toEqual(['one', 'two', 'answer to one\n\nanswer to two']);
  });

  test('is answered with the reply of that turn when it is a blocking chat', async () => {
    await app.configure({ runs: { on_busy: 'steer' } });
    const session_id = 'steering-and-waiting';
    const first = await startHeld({ session_id });
    const chat = app.call('POST', '/api/agent/chat', { message: 'two', model: DOUBLE_MODEL, session_id });
    await first.reader.until('steer');
    first.release();
    expect(await chat).toMatchObject({ status: 200, body: { answer: 'answer to one\n\nanswer to two' } });
  });

  test('is folded into a turn that waits', async () => {
    await app.configure({ runs: { on_busy: 'steer', live_max: 1 } });
    const first = await startHeld();
    const session_id = 'steering-what-waits';
    const second = await app.start('two', { session_id });
    await second.reader.until('status');
    const third = await app.start('three', { session_id });
    expect(third.runId).toBe(second.runId);
    first.release();
    expect(orderOf((await third.reader.rest()).slice(1, 2))).toEqual(['steer']);
    expect(await contents(session_id)).toEqual(['two', 'three', 'answer to two\n\nanswer to three']);
    await first.reader.rest();
  });

  test.each([
    ['another model', { model: 'lmstudio:other' }],
    ['an image', { images: [{ workspace_id: 'w', doc_id: 'd' }] }],
    ['no memory', { use_memory: false }],
  ])('waits behind it when it asks for %s', async (_, options) => {
    await app.configure({ runs: { on_busy: 'steer' } });
    const session_id = `not-steering ${_}`;
    const first = await startHeld({ session_id });
    const second = await app.start('two', { session_id, ...options });
    expect(second.runId).not.toBe(first.runId);
    expect(orderOf([await second.reader.until('status')])).toEqual(['status(queued)']);
    first.release();
    await Promise.all([first.reader.rest(), second.reader.rest()]);
  });

  test('waits behind it when it takes no more', async () => {
    await app.configure({ runs: { on_busy: 'steer' } });
    const session_id = 'steered-enough';
    const first = await startHeld({ session_id });
    for (let i = 0; i < 10; i += 1) await (await app.chat(`steer ${i}`, { session_id })).leave();
    await expect.poll(async () => (await app.steer(first.runId, 'more')).status).toBe(409);
    const last = await app.start('two', { session_id });
    expect(last.runId).not.toBe(first.runId);
    first.release();
    expect(textOf(await last.reader.rest())).toBe('answer to two');
    await first.reader.rest();
  });
});

test('a stop of the service leaves turns that wait to the next start, and tells who waits for a blocking chat', async () => {
  await using small = await openTroupe({ script: { fault: { kind: 'silence' } } });
  await small.configure({ runs: { live_max: 1 } });
  const first = await small.start('one');
  await small.double.received(0);
  const second = await small.start('two', { session_id: 'waiting' });
  await second.reader.until('status');
  await small.steer(second.runId, 'and more');
  const third = await small.start('three', { session_id: 'waiting' });
  const chat = small.call('POST', '/api/agent/chat', { message: 'four', model: DOUBLE_MODEL });
  await expect.poll(async () => (await small.call('GET', '/api/agent/status')).body.active_sessions).toBe(3);
  small.double.release();
  await small.restart();
  expect(await chat).toMatchObject({ status: 503, body: { error: 'The service was stopped' } });
  expect(orderOf((await first.reader.rest()).slice(-2))).toEqual(['done', 'close']);
  // The next start goes on with those that waited, in their order.
  const events = await (await small.attach(second.runId)).rest();
  await (await small.attach(third.runId)).rest();
  expect(numberingFlaws(events)).toEqual([]);
  expect(orderOf(events).slice(0, 2)).toEqual(['status(queued)', 'steer']);
  expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
  const rows = await small.messages('waiting');
  expect(rows.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
    'two',
    'and more',
    'three',
  ]);
});
