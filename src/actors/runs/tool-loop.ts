// ToolLoop: model call, tools, model call, … until the model has nothing more to call and nobody has steered.
// P1 After `roundsMax` rounds with tools the model is asked once more without them: it has to answer.
// P2 Steers are folded in after the tools of a round, or where the turn would end; then it goes on.
// P3 Before each model call but the first a step is saved, from which a lost turn can go on (steps.ts).

import type { FinishReason, ModelMessage } from '../providers/protocol.ts';
import type { ToolCaller } from '../tools/protocol.ts';
import { callModel, type ModelAnswer } from './model-call.ts';
import type { Steer } from './protocol.ts';
import type { LoopState } from './steps.ts';
import { splitThinking } from './think-tags.ts';
import { runTools } from './tool-round.ts';
import { addNote, type RoutedTurn } from './turn-scope.ts';
import type { TurnTools } from './turn-tools.ts';

export interface ToolLoopOptions {
  readonly tools: TurnTools;
  readonly roundsMax: number;
  readonly continueOnLength: boolean;
  readonly caller: ToolCaller;
  /** Where the loop stands already. */
  readonly from: LoopState;
}

const WRAP_UP =
  'You have used all tool rounds of this turn. Answer now with what you have; say what is missing if something is.';
const GO_ON =
  'Your answer was cut off by its length limit. Go on exactly where it stopped; do not repeat anything.';
const EMPTY_ANSWER = '[empty response from model]';

/** Runs the loop; what the model wrote is in the transcript. @throws Fault of the provider, TurnStopped */
export async function runToolLoop(
  turn: RoutedTurn,
  messages: ModelMessage[],
  options: ToolLoopOptions,
): Promise<FinishReason> {
  let { rounds, isToldToAnswer, continued } = options.from;
  let savedCount = messages.length;
  for (;;) {
    const isLast = rounds >= options.roundsMax;
    if (isLast && !isToldToAnswer && options.tools.all.length > 0) {
      isToldToAnswer = true;
      turn.say('info', { type: 'tool_budget_exhausted' });
      messages.push({ role: 'system', content: WRAP_UP });
    }
    if (messages.length > savedCount) {
      const loop = { rounds, isToldToAnswer, continued };
      await turn.steps.save(turn, turn.route.reference, messages.slice(savedCount), loop); // P3
      savedCount = messages.length;
    }
    const answer = await callModel(turn, messages, isLast ? [] : options.tools.all);
    if (answer.toolCalls.length > 0 && !isLast) {
      const called = answer.toolCalls.map(({ name }) => options.tools.labelOf(name));
      messages.push({ role: 'assistant', content: visible(answer), toolCalls: answer.toolCalls });
      messages.push(...(await runTools(turn, answer.toolCalls, options.caller, options.tools)));
      rounds += 1;
      foldIn(turn, messages, turn.steering.take(), rounds, called, 'tool_boundary');
      continue;
    }
    const steers = turn.steering.take();
    // A turn whose provider failed ends with what it has: asking again would only fail again.
    if (answer.failure !== null) {
      foldIn(turn, messages, steers, rounds, [], 'would_end');
      turn.steering.close();
      return answer.finish;
    }
    if (steers.length > 0) {
      messages.push({ role: 'assistant', content: visible(answer) });
      foldIn(turn, messages, steers, rounds, [], 'would_end');
      continue;
    }
    if (answer.finish === 'length' && options.continueOnLength && !continued) {
      continued = true;
      turn.transcript.goOn();
      turn.say('status', { phase: 'truncated', label: 'Continuing a long answer…' });
      messages.push({ role: 'assistant', content: visible(answer) }, { role: 'system', content: GO_ON });
      continue;
    }
    turn.steering.close();
    if (turn.transcript.answer === '') addNote(turn, EMPTY_ANSWER);
    return answer.finish;
  }
}

/** Thoughts are not folded back: they are not part of the conversation. */
function visible(answer: ModelAnswer): string {
  return splitThinking(answer.text).answer;
}

/** P2. */
function foldIn(
  { transcript }: RoutedTurn,
  messages: ModelMessage[],
  steers: readonly Steer[],
  round: number,
  afterTools: readonly string[],
  phase: 'tool_boundary' | 'would_end',
): void {
  for (const steer of steers) {
    messages.push({ role: 'user', content: steer.message });
    transcript.steered(steer, round, afterTools, phase);
  }
}
