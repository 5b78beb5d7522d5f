// Cancelling: heard at once, whatever the turn is at; what was written so far is kept.

import { afterAll, describe, expect, test } from 'vitest';
import { openRunStore, type RunRecord } from '../../../src/actors/runs/store.ts';
import { openStorage } from '../../../src/storage/storage.ts';
import { orderOf, payloadOf, textOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

describe('a live run', () => {
  test('ends within one event, keeps the partial text as an interrupted row, and closes without done', async () => {
    app.double.answer({ text: ['One ', 'two ', 'three'], fault: { kind: 'stall', afterChunks: 2 } });
    const asked = app.double.requestCount;
    const { runId, reader } = await app.start('Count');
    await reader.until('chunk', ({ content }) => content.endsWith('two '));
    expect(await app.cancel(runId)).toMatchObject({
      status: 200,
      body: { run_id: runId, cancel_requested: true, status: 'running' },
    });
    const [, ...events] = await reader.rest();
    expect(orderOf(events).slice(-2)).toEqual(['chunk', 'close']);
    expect(textOf(events)).toBe('One two ');
    expect(await app.listed(runId)).toMatchObject({ status: 'cancelled' });
    const rows = await app.messages(payloadOf(events, 'start').session_id);
    expect(rows).toMatchObject([
      { role: 'user', content: 'Count' },
      { role: 'assistant', content: 'One two', metadata: { interrupted: true, agent_name: 'AgentX' } },
    ]);
    // The provider is not pulled any more.
    expect(await (await app.double.received(asked)).ended).toBe('client_left');
  });

  test('is cancelled once: a second cancel finds it over', async () => {
    app.double.answer({ text: 'Never.', fault: { kind: 'silence' } });
    const { runId, reader } = await app.start('Wait');
    await reader.until('start');
    await app.cancel(runId);
    await reader.rest();
    expect((await app.cancel(runId)).body).toEqual({
      run_id: runId,
      cancel_requested: false,
      status: 'cancelled',
    });
  });

  test('that waits for a model that says nothing at all ends', async () => {
    app.double.answer({ text: 'Never.', fault: { kind: 'silence' } });
    const { runId, reader } = await app.start('Wait', { session_id: 'silent' });
    await reader.until('status', ({ phase }) => phase === 'thinking');
    await app.cancel(runId);
    expect(orderOf(await reader.rest()).slice(-2)).toEqual(['status(thinking)', 'close']);
    expect(await app.messages('silent')).toMatchObject([{ role: 'user', content: 'Wait' }]);
  });

  test('that asks for the next round keeps the tools that are done', async () => {
    let round = 0;
    app.double.answer(() => {
      round += 1;
      return round === 1
        ? { text: 'I note it.', toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'x' } }] }
        : { text: 'Never.', fault: { kind: 'silence' } };
    });
    const { runId, reader } = await app.start('Note it');
    await reader.until('status', ({ phase }) => phase === 'reading');
    await reader.until('status', ({ phase }) => phase === 'thinking');
    await app.cancel(runId);
    const [, ...events] = await reader.rest();
    const rows = await app.messages(payloadOf(events, 'start').session_id);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'tool_call', 'tool_result', 'assistant']);
    expect(rows.at(-1)).toMatchObject({ content: 'I note it.', metadata: { interrupted: true } });
  });

  test('that is cancelled as it starts ends all the same', async () => {
    app.double.answer({ fault: { kind: 'silence' } });
    const ended = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { runId, reader } = await app.start('Hello');
        await app.cancel(runId);
        const last = (await reader.rest()).at(-1);
        return { last: last?.event, status: (await app.listed(runId))?.status };
      }),
    );
    expect(ended).toEqual(ended.map(() => ({ last: 'close', status: 'cancelled' })));
  });
});

test('a run whose model is being chosen ends, though a provider does not list its models', async () => {
  await using slow = await openTroupe({ models: { list: [], silent: true } });
  const { runId, reader } = await slow.start('Hello', { model: null });
  await slow.cancel(runId);
  expect(orderOf((await reader.rest()).slice(1))).toEqual(['close']);
  slow.double.release();
});

test('an unknown run: nothing is requested, and there is no status', async () => {
  expect(await app.cancel('0123456789abcdef')).toMatchObject({
    status: 200,
    body: { run_id: '0123456789abcdef', cancel_requested: false, status: null },
  });
});

test('a run that is done stays done', async () => {
  app.double.answer({ text: 'Done.' });
  const { runId } = await app.turn('Hello');
  expect((await app.cancel(runId)).body).toEqual({ run_id: runId, cancel_requested: false, status: 'done' });
});

test('a run that nobody runs any more is settled here and now, with what its readers have seen', async () => {
  const orphan: RunRecord = {
    run_id: 'feedfeedfeedfeed',
    user_id: 'default',
    session_id: 'orphaned',
    origin: 'stream',
    resumes: 0,
    status: 'running',
    request: { message: 'Where?' },
    createdAtMs: 1_700_000_000_000,
    updatedAtMs: 1_700_000_000_000,
  };
  const storage = await openStorage({ directory: app.dataDir, primary: false });
  const store = openRunStore(storage);
  await storage.write('committed', (tx) => tx.put(store.records, orphan.run_id, orphan));
  await store.journals.append(orphan.run_id, 1, [['chunk', JSON.stringify({ content: 'In Lis' })]]);
  await storage.close();

  expect((await app.cancel(orphan.run_id)).body).toEqual({
    run_id: orphan.run_id,
    cancel_requested: true,
    status: 'cancelled',
  });
  expect(await app.listed(orphan.run_id)).toMatchObject({ status: 'cancelled' });
  const events = await (await app.attach(orphan.run_id)).rest();
  expect(events.map(({ id, event }) => [id, event])).toEqual([
    [1, 'chunk'],
    [2, 'close'],
  ]);
  expect((await app.messages('orphaned')).map(({ content }) => content)).toEqual(['Where?', 'In Lis']);
});
