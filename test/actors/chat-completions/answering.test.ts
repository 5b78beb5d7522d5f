// The deadline of an answer, on a clock that the test moves.

import { describe, expect, test } from 'vitest';
import { answerInPieces, answerWhole } from '../../../src/actors/chat-completions/answering.ts';
import type { AnswerPart } from '../../../src/actors/chat-completions/model-answer.ts';
import { CALL_DEADLINE_MS } from '../../../src/actors/chat-completions/protocol.ts';
import { ManualClock } from '../../http/manual-clock.ts';

const asked = new AbortController().signal;

/** Says something, or nothing, and waits until it is stopped. */
function endless(said: readonly string[]) {
  const waiting = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  async function* answer(signal: AbortSignal): AsyncGenerator<AnswerPart, void, undefined> {
    for (const text of said) yield { model: 'm:1', deltas: [{ kind: 'text', text }] };
    const left = new Promise((resolve) => signal.addEventListener('abort', resolve));
    waiting.resolve();
    await left;
    stopped.resolve();
  }
  return { id: '1', answer, waiting: waiting.promise, stopped: stopped.promise };
}

describe('after ten minutes', () => {
  test('a whole answer is given up, and its model is not asked any further', async () => {
    const clock = new ManualClock();
    const model = endless(['So far.']);
    const reply = answerWhole({ clock }, model, asked);
    await model.waiting;
    clock.advance(CALL_DEADLINE_MS);
    await model.stopped;
    await expect(reply).rejects.toMatchObject({ code: 'completion_overdue', kind: 'timeout' });
    expect(clock.timerCount).toBe(0);
  });

  test('an answer in pieces ends by saying so', async () => {
    const clock = new ManualClock();
    const model = endless(['So far.']);
    const pieces = answerInPieces({ clock }, model, false, asked);
    expect((await pieces.next()).value).toHaveLength(2);
    const last = pieces.next();
    await model.waiting;
    clock.advance(CALL_DEADLINE_MS);
    const [frame] = (await last).value ?? [];
    expect(JSON.parse(frame?.data ?? '')).toMatchObject({ error: { code: 'completion_overdue' } });
    expect(await pieces.next()).toEqual({ done: true, value: undefined });
    expect(clock.timerCount).toBe(0);
  });

  test('an answer that has not begun is an ordinary failure', async () => {
    const clock = new ManualClock();
    const model = endless([]);
    const first = answerInPieces({ clock }, model, false, asked).next();
    await model.waiting;
    clock.advance(CALL_DEADLINE_MS);
    await expect(first).rejects.toMatchObject({ code: 'completion_overdue' });
  });
});
