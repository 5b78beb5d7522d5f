// AgentAnswer: the answer of an agent: a turn of Troupe, read from its journal as any reader would.
// B1 The turn ends with the request (C3): here nobody could come back for it. One that the request was folded into goes on.

import { errorText, type Fault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { type CompletionDelta, type FinishReason, providerFaults } from '../providers/protocol.ts';
import { type ChatRequest, type RunFrame, runFaults, runs } from '../runs/protocol.ts';
import { usageFaults } from '../usage/protocol.ts';
import type { AnswerPart } from './model-answer.ts';
import { AGENT_DEFAULT } from './order.ts';
import { chatCompletionFaults } from './protocol.ts';

/** @throws what a turn is refused with, or completion_failed. Just ends when the signal is aborted. */
export async function* agentAnswer(
  context: ActorContext,
  turn: ChatRequest,
  user_id: string,
  signal: AbortSignal,
): AsyncGenerator<AnswerPart, void, undefined> {
  const { run_id, after, is_joined } = await context.ask(runs, 'start', { ...turn, user_id });
  let isOver = false;
  try {
    for await (const frames of context.stream(runs, 'tail', { run_id, after, user_id }, { signal })) {
      const deltas = frames.flatMap(deltaOf);
      isOver ||= deltas.some(({ kind }) => kind === 'finish');
      if (deltas.length > 0) yield { model: AGENT_DEFAULT, deltas };
      if (isOver) return;
    }
    isOver = !signal.aborted;
    if (isOver) throw chatCompletionFaults.completion_failed('The turn was ended');
  } finally {
    if (!isOver && !is_joined) cancel(context, run_id, user_id); // B1
  }
}

/** Not waited for. Where the runs are gone, nothing of the turn goes on either. */
function cancel(context: ActorContext, run_id: string, user_id: string): void {
  context.pipe(
    context.ask(runs, 'cancel', { run_id, user_id }),
    () => undefined,
    (error) => context.log.debug({ run: run_id, detail: errorText(error) }, 'a run was not cancelled'),
  );
}

/** @throws completion_failed when it is the turn's failure */
function deltaOf({ event, data }: RunFrame): readonly CompletionDelta[] {
  switch (event) {
    case 'chunk':
      return [{ kind: 'text', text: JSON.parse(data).content }];
    case 'done':
      return [finishOf(JSON.parse(data))];
    case 'error':
      throw failureOf(JSON.parse(data));
    default:
      return [];
  }
}

/** What is no failure of the model keeps its own code and status. */
function failureOf({ code, error }: { readonly code?: string; readonly error: string }): Fault {
  switch (code) {
    case 'model_not_found':
      return providerFaults.model_not_found(error);
    case 'budget_exceeded':
      return usageFaults.budget_exceeded(error);
    case 'service_stopped':
      return runFaults.service_stopped(error);
    default:
      return chatCompletionFaults.completion_failed(error);
  }
}

interface Done {
  readonly finish_reason: FinishReason | null;
  readonly tokens_input: number;
  readonly tokens_output: number;
  readonly tokens_reasoning: number;
}

function finishOf({ finish_reason, tokens_input, tokens_output, tokens_reasoning }: Done): CompletionDelta {
  return {
    kind: 'finish',
    reason: finish_reason === 'length' ? 'length' : 'stop',
    usage: {
      inputTokens: tokens_input,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: tokens_output,
      reasoningTokens: tokens_reasoning,
      cost: null,
    },
  };
}
