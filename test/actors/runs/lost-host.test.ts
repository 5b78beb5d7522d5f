// A run host that is killed in mid-run: its runs are settled with a reason, the rest of the service does not notice.

import { afterAll, expect, test } from 'vitest';
import { runs } from '../../../src/actors/runs/protocol.ts';
import type { Address } from '../../../src/supervisor/protocol.ts';
import { PATIENT } from '../../support/actor-system.ts';
import { numberingFlaws, orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import type { ReadEvent } from '../../support/sse-reader.ts';
import { DOUBLE_MODEL, openTroupe, type TestTroupe } from '../../support/troupe.ts';

const RUNS = 10;
const LOST = /^The run host run-[12] was lost while the answer was under way$/;

const app = await openTroupe();
afterAll(() => app.close());

const threadOf = ({ troupe }: TestTroupe, name: string): number | undefined =>
  troupe.system.threads().find((thread) => thread.name === name)?.thread;

test('its runs fail with the reason, runs on the other host go on, and a new host takes new runs', async () => {
  app.double.answer({ text: ['One ', 'two ', 'three'], fault: { kind: 'stall', afterChunks: 2 } });
  const started = await Promise.all(
    Array.from({ length: RUNS }, async (_, i) => {
      const run = await app.start(`run ${i}`, { session_id: `session ${i}` });
      await run.reader.until('chunk', ({ content }) => content.endsWith('two '));
      return run;
    }),
  );
  const healthy = app.call('GET', '/api/health');
  const before = threadOf(app, 'run-1') as number;
  await app.troupe.system.terminateThread(before);
  expect((await healthy).status).toBe(200);

  const ended = started.map(({ reader }) => reader.rest());
  const failed = await firstOf(ended, RUNS / 2);
  app.double.release();
  const all = (await Promise.all(ended)).map((events) => events.slice(1));
  const lost = all.filter((events) => orderOf(events).includes('error'));
  expect(lost).toHaveLength(RUNS / 2);
  expect(failed.map((events) => events.slice(1))).toEqual(expect.arrayContaining(lost));

  for (const [i, events] of all.entries()) {
    expect(numberingFlaws(events)).toEqual([]);
    const rows = await app.messages(`session ${i}`);
    const entry = await app.listed(started[i]?.runId ?? '');
    if (lost.includes(events)) {
      expect(orderOf(events).slice(-3)).toEqual(['chunk', 'error', 'close']);
      expect(payloadOf(events, 'error')).toEqual({ error: expect.stringMatching(LOST), code: 'run_lost' });
      expect(entry?.status).toBe('failed');
      expect(rows).toMatchObject([
        { role: 'user', content: `run ${i}` },
        { role: 'assistant', content: 'One two', metadata: { interrupted: true } },
      ]);
    } else {
      expect(textOf(events)).toBe('One two three');
      expect(entry?.status).toBe('done');
      expect(rows.at(-1)?.content).toBe('One two three');
    }
    expect(await (await app.attach(started[i]?.runId ?? '')).rest()).toEqual(events);
  }

  app.double.answer({ text: 'Hello again.' });
  const later = await Promise.all(Array.from({ length: RUNS }, () => app.turn('Hello')));
  expect(later.map(({ events }) => textOf(events))).toEqual(later.map(() => 'Hello again.'));
  await expect
    .poll(() => threadOf(app, 'run-1'))
    .toSatisfy((thread) => thread !== undefined && thread !== before);
});

test('a blocking chat that it took along answers 502 with the reason', async () => {
  await using small = await openTroupe({ service: { runHosts: 1 }, script: { fault: { kind: 'silence' } } });
  const chat = small.call('POST', '/api/agent/chat', { message: 'Hello', model: DOUBLE_MODEL });
  await small.double.received(0);
  await small.troupe.system.terminateThread(threadOf(small, 'run-1') as number);
  const { status, body } = await chat;
  expect({ status, body }).toEqual({
    status: 502,
    body: { error: 'The run host run-1 was lost; a blocking chat is not resumed' },
  });
});

test('one that had to announce itself twice takes its runs along like any other', async () => {
  await using small = await openTroupe({
    service: { runHosts: 1 },
    script: { text: ['One ', 'two'], fault: { kind: 'stall', afterChunks: 1 } },
  });
  const { system } = small.troupe;
  const { runId, reader } = await small.start('Count');
  await reader.until('chunk');
  const { actors } = await system.introspection.snapshot(PATIENT);
  const address = actors.find(({ path }) => path === 'chat/run-hosts/run-1')?.address as Address;
  // As a host does that was not answered within its deadline: a busy directory hears it twice.
  await system.named(runs).ask('host_ready', { name: 'run-1', address });
  await system.terminateThread(threadOf(small, 'run-1') as number);
  expect(orderOf(await reader.rest()).slice(-2)).toEqual(['error', 'close']);
  expect((await small.listed(runId))?.status).toBe('failed');
});

/** The first `count` of them that resolve. */
function firstOf(
  promises: readonly Promise<readonly ReadEvent[]>[],
  count: number,
): Promise<readonly (readonly ReadEvent[])[]> {
  return new Promise((resolve, reject) => {
    const first: (readonly ReadEvent[])[] = [];
    for (const promise of promises) {
      promise.then((events) => {
        first.push(events);
        if (first.length === count) resolve(first);
      }, reject);
    }
  });
}
