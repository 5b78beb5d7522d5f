// Steering: messages into a running turn, folded in after a tool round or where the turn would end.

import { afterAll, describe, expect, test } from 'vitest';
import type { DoubleRequest, Reply } from '../../support/provider-double-script.ts';
import { numberingFlaws, orderOf, payloadOf, payloadsOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const NOTE = { name: 'scratchpad_note', arguments: { note: 'x' } };

/** Answers one request after another, each when it is told to. */
function heldReplies(...replies: readonly Reply[]) {
  const gates = replies.map(() => Promise.withResolvers<void>());
  const arrived = replies.map(() => Promise.withResolvers<DoubleRequest>());
  let count = 0;
  app.double.answer(async (request) => {
    const index = count;
    count += 1;
    arrived[index]?.resolve(request);
    await gates[index]?.promise;
    return replies[index] ?? { text: 'more than was scripted' };
  });
  return {
    /** The request of that number is there, and waits. */
    asked: (index: number): Promise<DoubleRequest> => arrived[index]?.promise as Promise<DoubleRequest>,
    release: (index: number): void => gates[index]?.resolve(),
  };
}

/** What the model reads, role by role, without the house rules. */
function said({ body }: DoubleRequest): string[] {
  return (body.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => (role === 'tool' ? role : `${role}: ${content}`));
}

describe('a steer during a tool round', () => {
  test('is echoed at once, and folded in behind the results', async () => {
    const held = heldReplies({ text: 'I look.', toolCalls: [NOTE] }, { text: 'In Lisbon.' });
    const { runId, reader } = await app.start('Where?');
    await held.asked(0);
    expect(await app.steer(runId, ' And when? ')).toMatchObject({
      status: 200,
      body: { run_id: runId, steer_accepted: true },
    });
    const steer = await reader.until('steer');
    expect(steer.data).toEqual({ id: expect.stringMatching(/^[0-9a-f]{16}$/), message: 'And when?' });
    held.release(0);
    expect(said(await held.asked(1))).toEqual([
      'user: Where?',
      'assistant: I look.',
      'tool',
      'user: And when?',
    ]);
    held.release(1);
    const [, ...events] = await reader.rest();
    expect(numberingFlaws(events)).toEqual([]);
    const sessionId = payloadOf(events, 'start').session_id;
    const rows = await app.messages(sessionId);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'tool_call', 'tool_result', 'user', 'assistant']);
    expect(rows[3]).toMatchObject({
      content: 'And when?',
      metadata: { steered: true, steer_round: 1, after_tools: ['scratchpad_note'], phase: 'tool_boundary' },
    });
  });
});

describe('a steer during the answer', () => {
  test('is folded in where the turn would end, which goes on', async () => {
    const held = heldReplies({ text: 'Lisbon.' }, { text: 'In May.' });
    const { runId, reader } = await app.start('Where?');
    await held.asked(0);
    await app.steer(runId, 'And when?');
    await app.steer(runId, 'With whom?');
    held.release(0);
    expect(said(await held.asked(1))).toEqual([
      'user: Where?',
      'assistant: Lisbon.',
      'user: And when?',
      'user: With whom?',
    ]);
    held.release(1);
    const [, ...events] = await reader.rest();
    expect(orderOf(events).slice(-6)).toEqual([
      'steer',
      'chunk',
      'status(thinking)',
      'chunk',
      'done',
      'close',
    ]);
    const rows = await app.messages(payloadOf(events, 'start').session_id);
    expect(rows.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: Where?',
      'user: And when?',
      'user: With whom?',
      'assistant: Lisbon.\n\nIn May.',
    ]);
    expect(rows[1]?.metadata).toEqual({ steered: true, steer_round: 0, after_tools: [], phase: 'would_end' });
  });

  test('that the provider then cuts short is kept, though nobody answers it', async () => {
    const held = heldReplies({ text: ['Lis', 'bon'], fault: { kind: 'cut', afterChunks: 1 } });
    const { runId, reader } = await app.start('Where?');
    await held.asked(0);
    await app.steer(runId, 'And when?');
    held.release(0);
    const [, ...events] = await reader.rest();
    expect(payloadOf(events, 'done').finish_reason).toBe('error');
    const rows = await app.messages(payloadOf(events, 'start').session_id);
    expect(rows[1]).toMatchObject({ role: 'user', content: 'And when?', metadata: { steered: true } });
  });

  test('that is then cancelled is kept with what was answered', async () => {
    const held = heldReplies({ text: 'Never.' });
    const session_id = 'steered-and-cancelled';
    const { runId, reader } = await app.start('Where?', { session_id });
    await held.asked(0);
    await app.steer(runId, 'And when?');
    await app.cancel(runId);
    await reader.rest();
    held.release(0);
    const rows = await app.messages(session_id);
    expect(rows.map(({ content }) => content)).toEqual(['Where?', 'And when?']);
  });
});

describe('a steer is refused', () => {
  test('when it is blank: 400', async () => {
    expect(await app.steer('0123456789abcdef', ' \n ')).toMatchObject({
      status: 400,
      body: { error: 'message is required' },
    });
  });

  test('for an unknown run: 404', async () => {
    expect((await app.steer('0123456789abcdef', 'Hello')).status).toBe(404);
  });

  test('for a run that is over: 409', async () => {
    app.double.answer({ text: 'Done.' });
    const { runId } = await app.turn('Hello');
    expect((await app.steer(runId, 'More')).status).toBe(409);
  });

  test('when ten are waiting: 409, and the ten are folded in', async () => {
    const held = heldReplies({ text: 'One.' }, { text: 'Two.' });
    const { runId, reader } = await app.start('Go');
    await held.asked(0);
    const numbers = Array.from({ length: 10 }, (_, i) => `steer ${i}`);
    for (const text of numbers) expect((await app.steer(runId, text)).status).toBe(200);
    expect(await app.steer(runId, 'one too many')).toMatchObject({ status: 409 });
    held.release(0);
    const request = await held.asked(1);
    expect(said(request).slice(2)).toEqual(numbers.map((text) => `user: ${text}`));
    held.release(1);
    expect(payloadsOf(await reader.rest(), 'steer').map(({ message }) => message)).toEqual(numbers);
  });
});
