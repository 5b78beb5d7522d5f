// Resuming: a run that is lost, or left, between its steps goes on behind its last step, as if nothing had happened but time.

import { describe, expect, test } from 'vitest';
import type { DoubleRequest, Reply, Script } from '../../support/provider-double-script.ts';
import { numberingFlaws, orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import type { ReadEvent, SseReader } from '../../support/sse-reader.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

const SILENT: Reply = { fault: { kind: 'silence' } };
const note = (text: string): Reply => ({
  text: `I note ${text}.`,
  toolCalls: [{ name: 'scratchpad_note', arguments: { note: text } }],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
});

/** Ends the thread that carries runs; its successor is another one. */
async function loseHost({ troupe }: TestTroupe): Promise<void> {
  const host = troupe.system.threads().find(({ name }) => name === 'run-1');
  await troupe.system.terminateThread(host?.thread as number);
}

/** With one run host, so that it is known where the run is. */
const open = (script: Script): Promise<TestTroupe> => openTroupe({ script, service: { runHosts: 1 } });

/** What the model read. */
function promptOf({ body }: DoubleRequest): readonly unknown[] {
  return body.messages ?? [];
}

/** What came behind the house rules and the working memory, which a tool may have changed. */
function turnOf(request: DoubleRequest): readonly unknown[] {
  return promptOf(request).filter((message) => (message as { role: string }).role !== 'system');
}

async function scratchpadOf(app: TestTroupe, sessionId: string): Promise<readonly string[]> {
  const rows = await app.messages(sessionId);
  return rows
    .filter(({ role }) => role === 'tool_result')
    .map(({ content }) => JSON.parse(content).scratchpad);
}

/** What is stored of a run, once it has ended; the reader has seen the same. */
async function wholeOf(reader: SseReader): Promise<readonly ReadEvent[]> {
  const [, ...events] = await reader.rest();
  expect(numberingFlaws(events)).toEqual([]);
  expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
  return events;
}

describe('a run whose host is lost between its steps', () => {
  test('goes on behind its last step: no tool is called again, nothing is said twice', async () => {
    await using app = await open([note('one'), note('two'), SILENT, { text: 'All noted.' }]);
    const { runId, reader } = await app.start('Note', { session_id: 'noted' });
    const before = await app.double.received(2);
    await loseHost(app);
    const after = await app.double.received(3);
    const events = await wholeOf(reader);
    expect(turnOf(after)).toEqual(turnOf(before));

    expect(payloadsOf(events, 'start')).toHaveLength(1);
    expect(payloadsOf(events, 'tool_call').map(({ arguments: given }) => given.note)).toEqual(['one', 'two']);
    const order = orderOf(events);
    expect(order.slice(order.indexOf('status(resumed)'))).toEqual([
      'status(resumed)',
      'status(recalling)',
      'status(composing)',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    expect(await scratchpadOf(app, 'noted')).toEqual(['one', 'one\ntwo']);
    const rows = await app.messages('noted');
    expect(rows.map(({ role }) => role)).toEqual([
      'user',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'assistant',
    ]);
    expect(rows.at(-1)?.content).toBe('I note one.\n\nI note two.\n\nAll noted.');
    const done = payloadOf(events, 'done');
    expect(done.task_id).toBe(payloadOf(events, 'start').task_id);
    expect(done.tokens_input).toBeGreaterThanOrEqual(200);
    expect(done.tokens_output).toBeGreaterThanOrEqual(20);
    expect(await app.listed(runId)).toMatchObject({ status: 'done' });
    expect(await (await app.attach(runId)).rest()).toEqual(events);
  });
});

describe('a run that is lost', () => {
  test('before its first answer begins anew, and keeps what it has said', async () => {
    await using app = await open([SILENT, { text: 'Here I am.' }]);
    const { reader } = await app.start('Hello?');
    await reader.until('status', ({ phase }) => phase === 'thinking');
    await app.double.received(0);
    await loseHost(app);
    const events = await wholeOf(reader);
    expect(payloadsOf(events, 'start')).toHaveLength(1);
    expect(orderOf(events)).toContain('status(resumed)');
    expect(textOf(events)).toBe('Here I am.');
  });

  test('with steers that are not folded in folds them in then, once', async () => {
    await using app = await open([note('one'), SILENT, { text: 'In Lisbon.' }, { text: 'In May.' }]);
    const { runId, reader } = await app.start('Where?', { session_id: 'steered' });
    await app.double.received(1);
    await app.steer(runId, 'And when?');
    await loseHost(app);
    await wholeOf(reader);
    expect(turnOf(await app.double.received(2)).at(-1)).toMatchObject({ role: 'tool' });
    expect(turnOf(await app.double.received(3)).slice(-2)).toEqual([
      { role: 'assistant', content: 'In Lisbon.' },
      { role: 'user', content: 'And when?' },
    ]);
    const rows = await app.messages('steered');
    expect(rows.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'Where?',
      'And when?',
    ]);
  });

  test('behind a steer that was folded in where it would have ended goes on from there', async () => {
    const steered = Promise.withResolvers<void>();
    const replies: Reply[] = [{ text: 'Lisbon.' }, SILENT, { text: 'May.' }];
    const script = async (): Promise<Reply> => {
      const reply = replies.shift() as Reply;
      await steered.promise;
      return reply;
    };
    await using app = await open(script);
    const { runId, reader } = await app.start('Where?', { session_id: 'folded' });
    await app.double.received(0);
    await app.steer(runId, 'And when?');
    steered.resolve();
    const before = await app.double.received(1);
    await loseHost(app);
    await wholeOf(reader);
    expect(promptOf(await app.double.received(2))).toEqual(promptOf(before));
    expect((await app.messages('folded')).map(({ content }) => content)).toEqual([
      'Where?',
      'And when?',
      'Lisbon.\n\nMay.',
    ]);
  });

  test('while a long answer was to be continued continues it without a seam', async () => {
    await using app = await open([
      { text: 'The quick bro', finishReason: 'length' },
      SILENT,
      { text: 'wn fox.' },
    ]);
    const { reader } = await app.start('Go', { session_id: 'long' });
    await app.double.received(1);
    await loseHost(app);
    await wholeOf(reader);
    expect((await app.messages('long')).at(-1)?.content).toBe('The quick brown fox.');
  });

  test('after it was told to answer is not told again', async () => {
    await using app = await open([note('one'), SILENT, { text: 'Enough.' }]);
    await app.configure({ chat: { max_tool_rounds: 1 } });
    const { reader } = await app.start('Note');
    const before = await app.double.received(1);
    await loseHost(app);
    const events = await wholeOf(reader);
    const after = await app.double.received(2);
    expect(payloadsOf(events, 'info')).toEqual([{ type: 'tool_budget_exhausted' }]);
    expect(promptOf(after).at(-1)).toEqual(promptOf(before).at(-1));
    expect(after.body.tools).toBeUndefined();
  });

  test('keeps to its model though another one is the default by now', async () => {
    await using app = await open([note('one'), SILENT, { text: 'Still me.' }]);
    await app.configure({ preferences: { default_model: 'lmstudio:double-1' } });
    const { reader } = await app.start('Note', { model: null });
    await app.double.received(1);
    await app.configure({ preferences: { default_model: 'lmstudio:double-2' } });
    await loseHost(app);
    const events = await wholeOf(reader);
    expect((await app.double.received(2)).body.model).toBe('double-1');
    expect(payloadOf(events, 'done').model).toBe('double-1');
    expect(orderOf(events)).not.toContain('status(model_fallback)');
  });

  test('again and again is settled at last, for it may be what its hosts die of', async () => {
    await using app = await open([SILENT, SILENT, SILENT, SILENT, SILENT]);
    const { runId, reader } = await app.start('Hello?');
    for (let lost = 0; lost < 4; lost += 1) {
      await app.double.received(lost);
      await loseHost(app);
    }
    const events = await reader.rest();
    expect(payloadOf(events, 'error')).toEqual({
      error: 'The run host run-1 was lost; it had been resumed 3 times before',
      code: 'run_lost',
    });
    expect(await app.listed(runId)).toMatchObject({ status: 'failed' });
  });

  test('is settled when runs.resume_on_boot is off', async () => {
    await using app = await open([note('one'), SILENT]);
    await app.configure({ runs: { resume_on_boot: false } });
    const { reader } = await app.start('Note');
    await app.double.received(1);
    await loseHost(app);
    expect(payloadOf(await reader.rest(), 'error').error).toMatch(/resume_on_boot is off$/);
  });

  test('can be cancelled after it was resumed', async () => {
    await using app = await open([note('one'), SILENT, SILENT]);
    const { runId, reader } = await app.start('Note', { session_id: 'cancelled' });
    await app.double.received(1);
    await loseHost(app);
    await app.double.received(2);
    await app.cancel(runId);
    const events = await reader.rest();
    expect(orderOf(events).at(-1)).toBe('close');
    expect(await app.listed(runId)).toMatchObject({ status: 'cancelled' });
    expect((await app.messages('cancelled')).at(-1)).toMatchObject({
      content: 'I note one.',
      metadata: { interrupted: true },
    });
  });
});

describe('a stop of the service', () => {
  test('leaves a run that is between its steps, and the next start goes on with it', async () => {
    await using app = await open([note('one'), SILENT, { text: 'All noted.' }]);
    const { runId, reader } = await app.start('Note', { session_id: 'left' });
    await app.double.received(1);
    await app.restart();
    const [, ...seen] = await reader.rest();
    expect(orderOf(seen).at(-1)).toBe('status(suspended)');
    const events = await wholeOfReplay(app, runId);
    expect(events.slice(0, seen.length)).toEqual(seen);
    expect(payloadsOf(events, 'tool_call')).toHaveLength(1);
    expect(await scratchpadOf(app, 'left')).toEqual(['one']);
    expect((await app.messages('left')).at(-1)?.content).toBe('I note one.\n\nAll noted.');
  });
});

describe('turns that wait when the service stops', () => {
  test('begin after the next start, in the order in which they came, behind the one that goes on', async () => {
    await using app = await open([SILENT, { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }]);
    const started: { readonly runId: string; readonly reader: SseReader }[] = [];
    for (const message of ['first', 'second', 'third']) {
      started.push(await app.start(message, { session_id: 'waiting' }));
    }
    await app.double.received(0);
    await app.restart();
    for (const { runId, reader } of started) {
      await reader.rest();
      await wholeOfReplay(app, runId);
    }
    expect((await app.messages('waiting')).map(({ content }) => content)).toEqual([
      'first',
      'One.',
      'second',
      'Two.',
      'third',
      'Three.',
    ]);
  });
});

async function wholeOfReplay(app: TestTroupe, runId: string): Promise<readonly ReadEvent[]> {
  const events = await (await app.attach(runId)).rest();
  expect(numberingFlaws(events)).toEqual([]);
  expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
  return events;
}
