// The order of events of each kind of turn, and their payloads, over real HTTP, against a provider double.

import { afterAll, describe, expect, test } from 'vitest';
import { numberingFlaws, orderOf, payloadOf, payloadsOf, textOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const BEGINNING = ['status(recalling)', 'status(composing)', 'start', 'status(thinking)'];
const CALL = ['status(running_tool)', 'tool_call'];
const NOTE = { name: 'scratchpad_note', arguments: { note: 'Lisbon' } };

describe('a plain turn', () => {
  test('tells recalling, composing, start, thinking, chunks, done, close', async () => {
    app.double.answer({ text: 'The answer is 42.', chunkChars: 4 });
    const { events } = await app.turn('What is the answer?');
    expect(orderOf(events)).toEqual([...BEGINNING, 'chunk', 'done', 'close']);
    expect(textOf(events)).toBe('The answer is 42.');
  });

  test('numbers its frames from 1 without a gap, but for run_started, which is not stored', async () => {
    app.double.answer({ text: 'Hello' });
    const [first, ...stored] = await (await app.chat('Hello')).rest();
    expect(first).toMatchObject({ id: undefined, event: 'run_started' });
    expect(first?.data).toEqual({ run_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(numberingFlaws(stored)).toEqual([]);
  });

  test('says in start who answers, and in done what it took', async () => {
    app.double.answer({ text: 'Yes.', usage: { prompt_tokens: 90, completion_tokens: 7 } });
    const { events, sessionId } = await app.turn('Are you there?');
    const start = payloadOf(events, 'start');
    expect(start).toEqual({
      task_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      model: 'double-1',
      model_display_name: 'double-1',
      profile_name: null,
      agent_name: 'AgentX',
      agent_id: null,
      context_window: expect.any(Number),
      max_output_tokens: expect.any(Number),
    });
    expect(payloadOf(events, 'done')).toEqual({
      task_id: start.task_id,
      thinking: '',
      has_thinking: false,
      total_time_ms: expect.any(Number),
      session_id: sessionId,
      profile_name: null,
      agent_name: 'AgentX',
      agent_id: null,
      model: 'double-1',
      provider: 'lmstudio',
      tokens_input: 90,
      tokens_output: 7,
      context_window: start.context_window,
      context_used: 97,
      context_summarized: false,
      context_dropped_turns: 0,
      cost_estimate: null,
      cost_currency: null,
      pricing_snapshot: null,
      cost_source: null,
      tokens_reasoning: 0,
      finish_reason: 'stop',
      truncated: false,
      thinking_pattern: null,
      research: false,
    });
    expect(payloadOf(events, 'close')).toEqual({});
  });

  test('says which model stands in for one that is not there', async () => {
    app.double.answer({ text: 'Hello' });
    const { events } = await app.turn('Hello', { model: 'anthropic:none-such' });
    expect(orderOf(events).slice(0, 2)).toEqual(['status(model_fallback)', 'status(recalling)']);
    expect(payloadOf(events, 'start').model).toBe('double-1');
  });

  test('says that images are not read, and answers the text', async () => {
    app.double.answer({ text: 'Hello' });
    const image = { workspace_id: 'ws_home', doc_id: 'd1', media_type: 'image/png' };
    const { events, sessionId } = await app.turn('', { images: [image] });
    expect(orderOf(events)).toEqual(['status(vision_unsupported)', ...BEGINNING, 'chunk', 'done', 'close']);
    const [user] = await app.messages(sessionId);
    expect(user).toMatchObject({ role: 'user', content: '', metadata: { images: [image] } });
  });
});

describe('a turn with reasoning', () => {
  test('carries think tags in its chunks, repeats the thoughts in done, and stores the answer without them', async () => {
    app.double.answer({ reasoning: 'Six times seven.', text: 'It is 42.' });
    const { events, sessionId } = await app.turn('How much?');
    expect(orderOf(events)).toEqual([...BEGINNING, 'chunk', 'done', 'close']);
    expect(textOf(events)).toBe('<think>Six times seven.</think>It is 42.');
    expect(payloadOf(events, 'done')).toMatchObject({ thinking: 'Six times seven.', has_thinking: true });
    const answer = (await app.messages(sessionId)).at(-1);
    expect(answer).toMatchObject({ role: 'assistant', content: 'It is 42.' });
    expect(answer?.metadata).toMatchObject({ had_thinking: true });
  });

  test.each([
    ['<think>', '</think>'],
    ['[thinking]', '[/thinking]'],
  ])('splits %s off also when the tag is cut between chunks', async (open, closing) => {
    const pieces = [...`${open}Let me see.${closing}Done.`];
    app.double.answer({ text: pieces });
    const { events, sessionId } = await app.turn('Go');
    expect(textOf(events)).toBe(pieces.join(''));
    expect(payloadOf(events, 'done').thinking).toBe('Let me see.');
    expect((await app.messages(sessionId)).at(-1)?.content).toBe('Done.');
  });

  test('folds no thoughts back into the conversation', async () => {
    app.double.answer([{ reasoning: 'Hmm.', text: 'First.', toolCalls: [NOTE] }, { text: 'Second.' }]);
    const asked = app.double.requestCount;
    await app.turn('Go');
    const { body } = await app.double.received(asked + 1);
    const folded = body.messages?.find(({ role }) => role === 'assistant');
    expect(folded?.content).toBe('First.');
  });
});

describe('a tool round', () => {
  test('tells status and call, then the result, then reading and thinking; ids link call, result and rows', async () => {
    app.double.answer([
      { text: 'Let me note that.', toolCalls: [{ ...NOTE, id: 'functions.note:0' }] },
      { text: 'Noted.' },
    ]);
    const { events, sessionId } = await app.turn('Remember Lisbon');
    expect(orderOf(events)).toEqual([
      ...BEGINNING,
      'chunk',
      ...CALL,
      'tool_result',
      'status(reading)',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    const call = payloadOf(events, 'tool_call');
    expect(call).toEqual({
      tool: 'scratchpad_note',
      tool_call_id: 'functions.note:0',
      arguments: { note: 'Lisbon' },
    });
    expect(payloadOf(events, 'tool_result')).toEqual({
      tool: 'scratchpad_note',
      tool_call_id: 'functions.note:0',
      content: expect.any(String),
      success: true,
      duration_ms: expect.any(Number),
    });
    const rows = await app.messages(sessionId);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'tool_call', 'tool_result', 'assistant']);
    expect(JSON.parse(rows[1]?.content ?? '')).toEqual({ note: 'Lisbon' });
    for (const row of rows.slice(1, 3)) {
      expect(row.metadata).toMatchObject({ tool: 'scratchpad_note', tool_call_id: 'functions.note:0' });
    }
    expect(rows[3]?.content).toBe('Let me note that.\n\nNoted.');
  });

  test('tells all calls of a round before its first result, and the results in the order of the calls', async () => {
    const toolCalls = ['one', 'two', 'three'].map((note) => ({ ...NOTE, id: note, arguments: { note } }));
    app.double.answer([{ toolCalls, toolFragments: 3 }, { text: 'Done.' }]);
    const { events, sessionId } = await app.turn('Note three things');
    expect(orderOf(events)).toEqual([
      ...BEGINNING,
      ...CALL,
      ...CALL,
      ...CALL,
      'tool_result',
      'tool_result',
      'tool_result',
      'status(reading)',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    const ids = ['one', 'two', 'three'];
    expect(payloadsOf(events, 'tool_result').map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
    const rows = (await app.messages(sessionId)).filter(({ role }) => role.startsWith('tool_'));
    expect(rows.map(({ role, metadata }) => `${role} ${metadata.tool_call_id}`)).toEqual(
      ids.flatMap((id) => [`tool_call ${id}`, `tool_result ${id}`]),
    );
  });

  test('answers a bad call with an error that the model reads; the turn goes on', async () => {
    app.double.answer([
      {
        toolCalls: [
          { name: 'no_such_tool', arguments: {} },
          { name: 'scratchpad_note', arguments: '{"note' },
        ],
      },
      { text: 'Sorry.' },
    ]);
    const asked = app.double.requestCount;
    const { events } = await app.turn('Try');
    const results = payloadsOf(events, 'tool_result');
    expect(results.map(({ success }) => success)).toEqual([false, false]);
    for (const { content } of results) expect(content).toMatch(/^\{"error"/);
    const { body } = await app.double.received(asked + 1);
    expect(body.messages?.filter(({ role }) => role === 'tool')).toHaveLength(2);
    expect(payloadOf(events, 'done').finish_reason).toBe('stop');
  });

  test('shows at most 500 characters of a result, and keeps at most 2000', async () => {
    const note = 'x'.repeat(3_000);
    app.double.answer([
      { toolCalls: [{ ...NOTE, arguments: { note } }] },
      { toolCalls: [{ name: 'scratchpad_note', arguments: { note: 'y' } }] },
      { text: 'Done.' },
    ]);
    const { events, sessionId } = await app.turn('Note a lot');
    expect(payloadsOf(events, 'tool_result')[1].content).toHaveLength(500);
    const results = (await app.messages(sessionId)).filter(({ role }) => role === 'tool_result');
    expect(results[1]?.content).toHaveLength(2_000);
  });
});

describe('an exhibit', () => {
  const elements = [{ type: 'text', content: '# Hello' }];

  test('is shown without a tool card, and is stored as its call alone', async () => {
    app.double.answer([
      { toolCalls: [{ name: 'present_exhibit', id: 'e1', arguments: { elements } }] },
      { text: 'There.' },
    ]);
    const { events, sessionId } = await app.turn('Show me');
    expect(orderOf(events)).toEqual([
      ...BEGINNING,
      'status(running_tool)',
      'exhibit',
      'status(reading)',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    expect(payloadsOf(events, 'status').map(({ label }) => label)).toContain('Presenting…');
    expect(payloadOf(events, 'exhibit')).toEqual({
      schema_version: 1,
      id: expect.stringMatching(/^exh_[0-9a-f]{12}$/),
      title: null,
      layout: 'stack',
      elements: [{ ...elements[0], title: null }],
    });
    const rows = await app.messages(sessionId);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'tool_call', 'assistant']);
    expect(rows[1]?.metadata).toEqual({ tool: 'present_exhibit', tool_call_id: 'e1' });
    expect(JSON.parse(rows[1]?.content ?? '')).toEqual({ elements });
  });

  test('that is malformed is between the tool and the model', async () => {
    app.double.answer([
      { toolCalls: [{ name: 'present_exhibit', arguments: { elements: [{ type: 'hologram' }] } }] },
      { text: 'Never mind.' },
    ]);
    const { events, sessionId } = await app.turn('Show me');
    expect(orderOf(events)).not.toContain('exhibit');
    expect(orderOf(events)).not.toContain('tool_result');
    expect((await app.messages(sessionId)).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });
});

describe('a model that goes on calling tools', () => {
  test('is told to answer after ten rounds, without tools', async () => {
    app.double.answer(({ body }) => (body.tools === undefined ? { text: 'Enough.' } : { toolCalls: [NOTE] }));
    const asked = app.double.requestCount;
    const { events } = await app.turn('Go on and on');
    expect(payloadsOf(events, 'tool_result')).toHaveLength(10);
    expect(payloadOf(events, 'info')).toEqual({ type: 'tool_budget_exhausted' });
    expect(orderOf(events).slice(-6)).toEqual([
      'status(reading)',
      'info',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    expect(textOf(events)).toBe('Enough.');
    expect(app.double.requestCount - asked).toBe(11);
  });
});

describe('a long answer', () => {
  test('that is cut off is continued once, as one text', async () => {
    app.double.answer([
      { text: 'The quick brown f', finishReason: 'length' },
      { text: 'ox jumps.', finishReason: 'stop' },
    ]);
    const { events, sessionId } = await app.turn('Tell me');
    expect(orderOf(events)).toEqual([
      ...BEGINNING,
      'chunk',
      'status(truncated)',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    expect(payloadOf(events, 'done')).toMatchObject({ finish_reason: 'stop', truncated: false });
    expect((await app.messages(sessionId)).at(-1)?.content).toBe('The quick brown fox jumps.');
  });

  test('that is cut off again says so', async () => {
    app.double.answer({ text: 'More and more ', finishReason: 'length' });
    const { events, sessionId } = await app.turn('Tell me everything');
    expect(orderOf(events).filter((name) => name === 'status(truncated)')).toHaveLength(1);
    expect(payloadOf(events, 'done')).toMatchObject({ finish_reason: 'length', truncated: true });
    expect((await app.messages(sessionId)).at(-1)?.metadata).toMatchObject({ truncated: true });
  });
});

describe('an empty answer', () => {
  test('is replaced by a note', async () => {
    app.double.answer({ text: '' });
    const { events, sessionId } = await app.turn('Say nothing');
    expect(textOf(events)).toBe('[empty response from model]');
    expect((await app.messages(sessionId)).at(-1)?.content).toBe('[empty response from model]');
  });

  test('after an unclosed thought is replaced by a note that the thought does not swallow', async () => {
    app.double.answer({ text: '<think>I wonder' });
    const { events } = await app.turn('Think');
    expect(textOf(events)).toBe('<think>I wonder</think>[empty response from model]');
    expect(payloadOf(events, 'done').thinking).toBe('I wonder');
  });
});

describe('a turn for somebody unknown', () => {
  test.each([{ target_agent_id: 'bold-cosmic-falcon' }, { workflow_id: 'research-team' }])(
    'ends with an error before it starts: %j',
    async (target) => {
      app.double.answer({ text: 'Nobody should say this.' });
      const asked = app.double.requestCount;
      const { runId, reader } = await app.start('Hello', {
        ...target,
        session_id: `for-${Object.keys(target)}`,
      });
      const [, ...events] = await reader.rest();
      expect(orderOf(events)).toEqual(['error', 'close']);
      expect(payloadOf(events, 'error').error).toContain(Object.values(target)[0]);
      expect(app.double.requestCount).toBe(asked);
      expect(await app.listed(runId)).toMatchObject({ status: 'failed' });
    },
  );

  test('empty ids and null count as none', async () => {
    app.double.answer({ text: 'Hello' });
    const { events } = await app.turn('Hello', { target_agent_id: '', workflow_id: null });
    expect(orderOf(events)).toContain('done');
  });
});
