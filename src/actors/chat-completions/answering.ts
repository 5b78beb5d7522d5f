// Answering: an answer, whoever gives it, to the one who asked: whole, or piece by piece; with its deadline (C3).

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { AnswerPart } from './model-answer.ts';
import {
  CALL_DEADLINE_MS,
  type ChatCompletion,
  type CompletionFrame,
  chatCompletionFaults,
} from './protocol.ts';
import { failureFrame, type Letterhead, ReplyChunks, WholeReply } from './reply.ts';

type AnsweringContext = Pick<ActorContext, 'clock'>;
type Answer = (signal: AbortSignal) => AsyncGenerator<AnswerPart, void, undefined>;

interface Answering {
  readonly id: string;
  readonly answer: Answer;
}

export async function answerWhole(
  context: AnsweringContext,
  { id, answer }: Answering,
  asked: AbortSignal,
): Promise<ChatCompletion> {
  const reply = new WholeReply();
  let letterhead: Letterhead | null = null;
  for await (const { model, deltas } of inTime(context, answer, asked)) {
    letterhead ??= letterheadOf(context, id, model);
    reply.add(deltas);
  }
  if (letterhead === null) throw chatCompletionFaults.completion_failed('The model said nothing');
  return reply.completion(letterhead);
}

/** A failure before the first piece is an ordinary refusal; behind it, it is told in the stream (Y3). */
export async function* answerInPieces(
  context: AnsweringContext,
  { id, answer }: Answering,
  wantsUsage: boolean,
  asked: AbortSignal,
): AsyncGenerator<readonly CompletionFrame[], void, undefined> {
  let chunks: ReplyChunks | null = null;
  try {
    for await (const { model, deltas } of inTime(context, answer, asked)) {
      chunks ??= new ReplyChunks(letterheadOf(context, id, model), wantsUsage);
      yield chunks.frames(deltas);
    }
  } catch (error) {
    if (chunks === null || !isFault(error)) throw error;
    yield [failureFrame(error)];
    return;
  }
  if (chunks !== null) yield chunks.end();
  else if (!asked.aborted) throw chatCompletionFaults.completion_failed('The model said nothing');
}

async function* inTime(
  { clock }: AnsweringContext,
  answer: Answer,
  asked: AbortSignal,
): AsyncGenerator<AnswerPart, void, undefined> {
  const overdue = new AbortController();
  const deadline = clock.startTimer(CALL_DEADLINE_MS, () => overdue.abort());
  try {
    yield* answer(AbortSignal.any([asked, overdue.signal]));
  } catch (error) {
    if (!overdue.signal.aborted) throw error;
  } finally {
    deadline.cancel();
  }
  if (overdue.signal.aborted && !asked.aborted)
    throw chatCompletionFaults.completion_overdue(`No whole answer within ${CALL_DEADLINE_MS / 1000} s`);
}

function letterheadOf({ clock }: AnsweringContext, id: string, model: string): Letterhead {
  return { id: `chatcmpl-${id}`, created: Math.floor(clock.nowMs() / 1000), model };
}
