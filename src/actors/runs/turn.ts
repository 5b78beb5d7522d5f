// Turn: one chat turn from its order to its last event, step by step.
// In order: settings and model, history and working memory, prompt, `start`, the tool loop, rows, `done`.
// A turn that was lost between its steps is gone through again in the same order: what was said is not said again, the
// prompt is composed anew (nobody else has written to the conversation meanwhile) and goes on with what the steps hold.

import { type Fault, isFault } from '../../std/errors.ts';
import { config, type Settings } from '../config/protocol.ts';
import { conversations } from '../conversations/protocol.ts';
import { AGENT_DEFAULT } from '../mcp/protocol.ts';
import {
  type FinishReason,
  type ModelMessage,
  type ModelRoute,
  providers,
  RESOLVE_DEADLINE_MS,
} from '../providers/protocol.ts';
import {
  toolOutputs,
  USER_MESSAGE_INLINE_CHARS_MAX,
  USER_MESSAGE_PREVIEW_CHARS,
} from '../tool-outputs/protocol.ts';
import type { ToolCaller } from '../tools/protocol.ts';
import { attachmentsOf, hasMedia, messageWith } from './attachments.ts';
import { NO_TOOLS } from './offered-tools.ts';
import { patiently } from './patience.ts';
import { findProject } from './project.ts';
import {
  composePrompt,
  historyOfRows,
  historyOfTurns,
  NO_WORKING_MEMORY,
  OUTPUT_TOKENS_DEFAULT,
  type Prompt,
  type WorkingMemory,
} from './prompt.ts';
import {
  AGENT_NAME_DEFAULT,
  type ChatReply,
  type ChatRequest,
  type RunOutcome,
  runFaults,
  type StopCause,
} from './protocol.ts';
import { runToolLoop } from './tool-loop.ts';
import { TurnBudget } from './turn-budget.ts';
import { TurnMedia } from './turn-media.ts';
import { checkNotStopped, type RoutedTurn, type TurnScope, TurnStopped, wantedModel } from './turn-scope.ts';
import { TurnTools } from './turn-tools.ts';
import { costFields } from './usage.ts';

/** Turns that name no channel are filed under this one. */
const CHANNEL_DEFAULT = '_default';
/** The rows of a turn are worth a longer wait than a question. */
const SAVE_DEADLINE_MS = 30_000;

/**
 * Runs the turn; whatever happens, its last events have been said and its rows are saved when this resolves. Null: it was
 * left between its steps, to be resumed.
 */
export async function runTurn(scope: TurnScope): Promise<RunOutcome | null> {
  try {
    const finished = await answerTurn(scope);
    return await finishTurn(scope, finished);
  } catch (error) {
    scope.steering.close();
    if (error instanceof TurnStopped || scope.signal.aborted) return stopTurn(scope);
    if (isFault(error)) return failTurn(scope, error);
    throw error;
  }
}

interface FinishedTurn {
  readonly turn: RoutedTurn;
  readonly prompt: Prompt;
  readonly finish: FinishReason;
}

async function answerTurn(scope: TurnScope): Promise<FinishedTurn> {
  const { context, order, resumption, say, signal } = scope;
  const { request } = order;
  if (resumption.hasBegun) say('status', { phase: 'resumed', label: 'Going on after an interruption…' });
  refuseUnknownTarget(request);
  const attachments = attachmentsOf(request);
  // Together: each of them is a way to the edge thread and back, and nobody reads a word before them.
  const [settings, project, route] = await Promise.all([
    context.ask(config, 'settings', {}, { signal }),
    findProject(scope),
    context.ask(
      providers,
      'resolve',
      { model: wantedModel(scope), hasMedia: hasMedia(attachments) },
      { signal, deadlineMs: RESOLVE_DEADLINE_MS },
    ),
  ]);
  if (project?.isByMembership && resumption.started === null) {
    say('workspace_attached', { workspace_id: project.workspace.id });
  }
  sayFallback(scope, route);
  const turn: RoutedTurn = {
    ...scope,
    route,
    sampling: {
      temperature: request.temperature ?? settings['llm_settings.default_temperature'],
      topP: settings['llm_settings.top_p'],
      frequencyPenalty: settings['llm_settings.frequency_penalty'],
      presencePenalty: settings['llm_settings.presence_penalty'],
    },
    budget: new TurnBudget(settings),
    media: new TurnMedia(settings),
  };
  // What the model will not see or hear is said before all else, and what is to be transcribed is.
  const media = await turn.media.sourcesFor(turn, [messageWith('', attachments)]);
  say('status', { phase: 'recalling', label: 'Recalling…' });
  const caller: ToolCaller = {
    run_id: order.run_id,
    conversation_id: order.session_id,
    user_id: order.user_id,
    durable: isDurable(scope),
    agent_id: request.agent_profile_id ?? AGENT_DEFAULT,
    workspace_id: project?.workspace.id,
    sees: route.supportsVision,
  };
  const [history, offered, userText] = await Promise.all([
    loadHistory(turn, settings),
    route.supportsTools ? scope.offeredTools.list(context, caller, signal) : NO_TOOLS,
    inlineMessage(scope),
  ]);
  checkNotStopped(scope);
  const turnTools = new TurnTools(offered);
  say('status', { phase: 'composing', label: 'Composing…' });
  const prompt = composePrompt({
    ...history,
    project,
    user: messageWith(userText, attachments),
    media,
    contextWindow: route.contextWindow,
    outputTokens: route.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT,
    toolTokens: turnTools.tokens,
  });
  if (resumption.started === null) sayStart(turn);
  const finish = await runToolLoop(turn, [...prompt.messages, ...resumption.messages], {
    tools: turnTools,
    roundsMax: settings['chat.max_tool_rounds'],
    continueOnLength: settings['chat.auto_continue_on_length'],
    caller,
    from: resumption.loop,
  });
  return { turn, prompt, finish };
}

/** The good end: rows first (R6), then `done`. */
async function finishTurn(scope: TurnScope, { turn, prompt, finish }: FinishedTurn): Promise<RunOutcome> {
  await saveRows(scope, answerMetadata(turn, finish));
  const totalTimeMs = elapsedMs(scope);
  const reply = replyOf(scope, totalTimeMs);
  sayDone(turn, prompt, finish, totalTimeMs);
  scope.say('close', {});
  return { run_id: scope.order.run_id, status: 'done', reply, error: null };
}

/** Cancelled: what was written so far is kept, marked as interrupted (R4). */
async function stopTurn(scope: TurnScope): Promise<RunOutcome | null> {
  const cause: StopCause = scope.signal.reason;
  if (cause === 'suspended' && scope.journal.seqShown <= scope.steps.lastSeq) {
    scope.say('status', {
      phase: 'suspended',
      label: 'The service stops; this goes on after its next start…',
    });
    return null;
  }
  if (cause !== 'cancelled') return failTurn(scope, runFaults.service_stopped('The service was stopped'));
  await saveInterrupted(scope);
  scope.say('close', {});
  return { run_id: scope.order.run_id, status: 'cancelled', reply: null, error: null };
}

async function failTurn(scope: TurnScope, fault: Fault): Promise<RunOutcome> {
  await saveInterrupted(scope);
  scope.say('error', { error: fault.message, code: fault.code });
  scope.say('close', {});
  const { code, message } = fault;
  return { run_id: scope.order.run_id, status: 'failed', reply: null, error: { code, message } };
}

async function saveInterrupted(scope: TurnScope): Promise<void> {
  // Accepted and never folded in: the user has seen it echoed, so it is in the transcript.
  for (const steer of scope.steering.take()) scope.transcript.steered(steer, 0, [], 'would_end');
  await saveRows(scope, { interrupted: true, agent_name: AGENT_NAME_DEFAULT });
}

/** @throws when the rows cannot be saved: then the run is not finished, and is settled as lost. */
async function saveRows(scope: TurnScope, metadata: Readonly<Record<string, unknown>>): Promise<void> {
  if (!isDurable(scope)) return;
  const { context, order, transcript } = scope;
  const rows = transcript.rows(context.clock.nowMs(), metadata);
  // Said before stored: a kill between the two must not leave a transcript that knows more than the journal.
  await scope.journal.saved();
  // The run's id makes it harmless to ask again.
  await patiently(context, () =>
    context.ask(
      conversations,
      'append',
      { conversation_id: order.session_id, run_id: order.run_id, channel: CHANNEL_DEFAULT, rows },
      { deadlineMs: SAVE_DEADLINE_MS },
    ),
  );
}

function isDurable({ order }: TurnScope): boolean {
  return order.request.use_memory !== false;
}

interface LoadedHistory {
  readonly history: readonly ModelMessage[];
  readonly workingMemory: WorkingMemory;
  readonly olderCount: number;
}

async function loadHistory(scope: RoutedTurn, settings: Settings): Promise<LoadedHistory> {
  const { context, order, signal, route } = scope;
  const conversation_id = order.session_id;
  if (!isDurable(scope)) {
    return { history: historyOfTurns(order.earlier), workingMemory: NO_WORKING_MEMORY, olderCount: 0 };
  }
  const rowsMax = settings['context.rehydrate_max_turns'];
  const { rows, olderCount } = await context.ask(
    conversations,
    'history',
    { conversation_id, rowsMax },
    { signal },
  );
  // A new conversation has no working memory yet.
  if (rows.length === 0) return { history: [], workingMemory: NO_WORKING_MEMORY, olderCount: 0 };
  const [{ checkpoints }, { text }, { state }] = await Promise.all([
    context.ask(conversations, 'checkpoints', { conversation_id }, { signal }),
    context.ask(conversations, 'scratchpad', { conversation_id, replace: false }, { signal }),
    context.ask(conversations, 'state', { conversation_id }, { signal }),
  ]);
  const takesMedia = route.supportsVision || route.audioTypes.length > 0;
  const usesState = settings['context.conversation_state_enabled'];
  return {
    history: historyOfRows(rows, takesMedia ? settings['vision.refeed_recent_turns'] : 0),
    workingMemory: { checkpoints, scratchpad: text, state: usesState ? state : null },
    olderCount,
  };
}

/** A very long message is stored; the model gets its beginning and the way to the rest. */
async function inlineMessage(scope: TurnScope): Promise<string> {
  const { context, order, signal } = scope;
  const message = order.request.message ?? '';
  if (message.length <= USER_MESSAGE_INLINE_CHARS_MAX || !isDurable(scope)) return message;
  const kept = { tool: 'user_message', tool_call_id: '', content: message, kind: 'message' } as const;
  const { key } = await context.ask(toolOutputs, 'keep', kept, { signal });
  const preview = message.slice(0, USER_MESSAGE_PREVIEW_CHARS).toWellFormed();
  return `${preview}\n\n[The message goes on: ${message.length} characters in all. Read the rest with read_user_message, key ${key}.]`;
}

/** There are no agents beside the default one yet, and no workflows: whoever asks for one hears so. */
function refuseUnknownTarget({ workflow_id, target_agent_id }: ChatRequest): void {
  if (workflow_id) throw runFaults.workflow_not_found(`Unknown workflow: ${workflow_id}`);
  if (target_agent_id) throw runFaults.agent_not_found(`Unknown agent: ${target_agent_id}`);
}

/** Another model than the one that was asked for, or than the one that `start` named, does not answer in silence. */
function sayFallback({ resumption: { started }, say }: TurnScope, route: ModelRoute): void {
  const { substitution, reference, modelId } = route;
  const hasChanged = started !== null && started.modelId !== modelId;
  const label =
    substitution ?? (hasChanged ? `${started.modelId} unavailable, going on with ${reference}` : null);
  if (label !== null) say('status', { phase: 'model_fallback', label, detail: reference });
}

function sayStart({ say, order, taskId, route }: RoutedTurn): void {
  say('start', {
    task_id: taskId,
    session_id: order.session_id,
    model: route.modelId,
    model_display_name: route.displayName,
    profile_name: null,
    agent_name: AGENT_NAME_DEFAULT,
    agent_id: null,
    context_window: route.contextWindow,
    max_output_tokens: route.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT,
  });
}

function sayDone(turn: RoutedTurn, prompt: Prompt, finish: FinishReason, totalTimeMs: number): void {
  const { say, order, taskId, route, transcript, usage } = turn;
  const { thinking } = transcript;
  say('done', {
    task_id: taskId,
    thinking,
    has_thinking: thinking !== '',
    total_time_ms: totalTimeMs,
    session_id: order.session_id,
    profile_name: null,
    agent_name: AGENT_NAME_DEFAULT,
    agent_id: null,
    model: route.modelId,
    provider: route.connection.provider,
    tokens_input: usage.inputTokens,
    tokens_output: usage.outputTokens,
    context_window: route.contextWindow,
    context_used: usage.contextTokens,
    context_summarized: false,
    context_dropped_turns: prompt.droppedCount,
    ...costFields(usage, route.price),
    tokens_reasoning: usage.reasoningTokens,
    finish_reason: finish,
    truncated: finish === 'length',
    thinking_pattern: null,
    research: false,
  });
}

function answerMetadata(turn: RoutedTurn, finish: FinishReason): Readonly<Record<string, unknown>> {
  const { route, usage, transcript } = turn;
  return {
    model: route.modelId,
    provider: route.connection.provider,
    latency_ms: elapsedMs(turn),
    tokens_input: usage.inputTokens,
    tokens_output: usage.outputTokens,
    context_window: route.contextWindow,
    context_used: usage.contextTokens,
    had_thinking: transcript.thinking !== '',
    ...(usage.costUsd === null ? {} : costFields(usage, route.price)),
    ...(finish === 'length' ? { truncated: true } : {}),
    ...(usage.reasoningTokens === 0 ? {} : { tokens_reasoning: usage.reasoningTokens }),
    agent_name: AGENT_NAME_DEFAULT,
  };
}

function replyOf(scope: TurnScope, totalTimeMs: number): ChatReply {
  const { transcript, taskId, order, usage } = scope;
  const { answer, thinking } = transcript;
  const tokens = usage.inputTokens + usage.outputTokens;
  return {
    task_id: taskId,
    status: 'complete',
    response: answer,
    answer,
    thinking,
    has_thinking: thinking !== '',
    session_id: order.session_id,
    reasoning_trace: 0,
    reasoning_steps: 0,
    tokens_used: tokens,
    total_tokens: tokens,
    total_time_ms: totalTimeMs,
  };
}

function elapsedMs({ context, startedMonotonicMs }: TurnScope): number {
  return context.clock.monotonicMs() - startedMonotonicMs;
}
