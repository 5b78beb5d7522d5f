// ModelCall: one call of the model as part of a turn. Streams the text to the readers; waits, retries and says so.
// W1 Before the first token a passing failure is tried again; after it, what has come is kept and the failure is told.
// W2 A rate limit is waited for as long as the provider says, else 15, 30, 60, 120 s. Every wait is visible and ends with
//    the turn.
// W3 While the model is silent the readers hear that it is being waited for.
// W4 When that did not help, and nothing was said yet, the next model of the chain is asked: that one too is told, and has
//    the rest of the turn. A provider that failed in this call is not asked again, whatever the model.
// W5 Whatever is asked, again or for the first time, is asked within the budgets (turn-budget.ts).

import { errorText, type Fault, isFault } from '../../std/errors.ts';
import { takeAll } from '../../std/pulled.ts';
import {
  type CompletionDelta,
  type CompletionRequest,
  FALLBACKS_MAX,
  type FinishReason,
  isPassing,
  isRefusal,
  type ModelMessage,
  type ModelRoute,
  type ModelToolCall,
  providers,
  RESOLVE_DEADLINE_MS,
} from '../providers/protocol.ts';
import type { ToolDescription } from '../tools/protocol.ts';
import { outputBudget } from './prompt.ts';
import { estimateMessagesTokens, estimateTokens } from './tokens.ts';
import { addNote, checkNotStopped, pause, type RoutedTurn, TurnStopped, wantedModel } from './turn-scope.ts';

export interface ModelAnswer {
  /** As the model wrote it, think tags included. */
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  readonly finish: FinishReason;
  /** What cut the answer short after its first token. */
  readonly failure: Fault | null;
}

const RATE_LIMIT_WAITS_MS = [15_000, 30_000, 60_000, 120_000];
/** A provider that asks for more is not waited for: the turn would look dead. */
const RETRY_AFTER_MAX_MS = 180_000;
const RETRY_BACKOFF_MS = 500;
/** What says nothing about a provider's health. */
const NOT_ITS_HEALTH: ReadonlySet<string> = new Set(['model_not_found', 'media_missing']);
const SILENCE_FIRST_MS = 20_000;
const SILENCE_NEXT_MS = 30_000;

/** W4. @throws Fault of the provider when nothing came of it; TurnStopped */
export async function callModel(
  turn: RoutedTurn,
  messages: readonly ModelMessage[],
  tools: readonly ToolDescription[],
): Promise<ModelAnswer> {
  const failedProviders: string[] = [];
  for (;;) {
    try {
      return await askModel(turn, messages, tools);
    } catch (error) {
      if (isFault(error, 'provider_rejected') && turn.media.refused()) continue;
      if (!isPassing(error)) throw error;
      const failed = turn.route;
      const next = await nextRoute(turn, failedProviders, messages);
      if (next === null) throw error;
      const label = next.substitution ?? `${failed.reference} unavailable, using ${next.reference}`;
      turn.say('status', { phase: 'model_fallback', label, detail: next.reference });
      turn.route = next;
    }
  }
}

/** The next model of the chain that has room for the prompt; null when there is none. */
async function nextRoute(
  turn: RoutedTurn,
  failedProviders: string[],
  messages: readonly ModelMessage[],
): Promise<ModelRoute | null> {
  const { context, signal } = turn;
  const hasMedia = messages.some((message) => message.role === 'user' && message.media !== undefined);
  const inputTokens = estimateMessagesTokens(messages);
  failedProviders.push(turn.route.connection.provider);
  while (failedProviders.length <= FALLBACKS_MAX) {
    const question = { model: wantedModel(turn), failedProviders, hasMedia };
    let route: ModelRoute;
    try {
      route = await context.ask(providers, 'resolve', question, { signal, deadlineMs: RESOLVE_DEADLINE_MS });
    } catch (error) {
      if (signal.aborted) throw new TurnStopped();
      if (isFault(error)) return null;
      throw error;
    }
    if (inputTokens < route.contextWindow) return route;
    failedProviders.push(route.connection.provider);
  }
  return null;
}

/** Asks the model of the turn, again where that may help (W1, W2). */
async function askModel(
  turn: RoutedTurn,
  messages: readonly ModelMessage[],
  tools: readonly ToolDescription[],
): Promise<ModelAnswer> {
  const media = await turn.media.sourcesFor(turn, messages);
  const failures: Failures = { rateLimits: 0, others: 0 };
  for (;;) {
    checkNotStopped(turn);
    const call = new CallInProgress(turn, { messages, ...(media === undefined ? {} : { media }) }, tools);
    await call.admitted();
    turn.say('status', { phase: 'thinking', label: 'Thinking…' });
    try {
      return await call.run();
    } catch (error) {
      if (turn.signal.aborted) throw new TurnStopped();
      if (!isFault(error)) throw error;
      reportHealth(turn, error);
      if (call.hasOutput) return call.salvaged(error);
      await waitBeforeRetry(turn, error, failures);
    }
  }
}

class CallInProgress {
  readonly #turn: RoutedTurn;
  readonly #request: CompletionRequest;
  readonly #inputEstimate: number;
  #text = '';
  #toolCalls: readonly ModelToolCall[] = [];
  #finish: FinishReason = 'stop';
  #isUsageKnown = false;

  constructor(
    turn: RoutedTurn,
    said: Pick<CompletionRequest, 'messages' | 'media'>,
    tools: readonly ToolDescription[],
  ) {
    const { route, sampling } = turn;
    this.#turn = turn;
    this.#inputEstimate = estimateMessagesTokens(said.messages, said.media);
    this.#request = {
      connection: route.connection,
      modelId: route.modelId,
      ...said,
      tools: route.supportsTools ? tools : [],
      ...sampling,
      price: route.price,
      maxOutputTokens: outputBudget(route.contextWindow, route.maxOutputTokens, this.#inputEstimate),
    };
  }

  get hasOutput(): boolean {
    return this.#text !== '' || this.#toolCalls.length > 0;
  }

  /** W5. @throws budget_exceeded */
  admitted(): Promise<void> {
    return this.#turn.budget.admit(this.#turn, this.#request, this.#inputEstimate);
  }

  async run(): Promise<ModelAnswer> {
    const { completions, signal, journal, context, route } = this.#turn;
    const stopWatching = this.#watchSilence();
    try {
      await takeAll(completions.stream('complete', this.#request, { signal }), (deltas) => {
        stopWatching();
        this.#hear(deltas);
        return journal.hasRoom ? undefined : journal.flushed();
      });
    } finally {
      stopWatching();
      this.#settleUsage();
      this.#turn.transcript.wrote(this.#text);
    }
    const { provider, baseUrl } = route.connection;
    context.tell(providers, 'met', { provider, baseUrl, healthy: true });
    return { text: this.#text, toolCalls: this.#toolCalls, finish: this.#finish, failure: null };
  }

  #hear(deltas: readonly CompletionDelta[]): void {
    let text = '';
    for (const delta of deltas) {
      switch (delta.kind) {
        case 'text':
          text += delta.text;
          break;
        case 'tool_calls':
          this.#toolCalls = delta.calls;
          break;
        case 'finish':
          this.#finish = delta.reason;
          if (delta.usage !== null) {
            this.#isUsageKnown = true;
            this.#turn.usage.add(this.#request.modelId, delta.usage);
          }
          break;
      }
    }
    if (text === '') return;
    this.#text += text;
    this.#turn.say('chunk', { content: text });
  }

  /** W1: a half tool call is not run, half a text is kept. */
  salvaged(failure: Fault): ModelAnswer {
    addNote(this.#turn, `\n\n[The answer was cut short: ${failure.message}]`);
    return { text: this.#text, toolCalls: [], finish: 'error', failure };
  }

  #settleUsage(): void {
    if (this.#isUsageKnown || !this.hasOutput) return;
    this.#turn.usage.add(this.#request.modelId, {
      inputTokens: this.#inputEstimate,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: estimateTokens(this.#text),
      reasoningTokens: 0,
      cost: null,
    });
  }

  /** W3. */
  #watchSilence(): () => void {
    const { context, say } = this.#turn;
    const sinceMs = context.clock.monotonicMs();
    let cancel = (): void => undefined;
    const tick = (): void => {
      const seconds = Math.round((context.clock.monotonicMs() - sinceMs) / 1000);
      say('status', { phase: 'thinking', label: `Still waiting on the model (${seconds}s)…` });
      cancel = context.after('silence', SILENCE_NEXT_MS, tick);
    };
    cancel = context.after('silence', SILENCE_FIRST_MS, tick);
    return () => cancel();
  }
}

/** Of one model so far. They alternate where a provider is overloaded, and each kind has a bound of its own. */
interface Failures {
  rateLimits: number;
  others: number;
}

/** W2. @throws the fault itself when it is not worth another try */
async function waitBeforeRetry(turn: RoutedTurn, fault: Fault, failures: Failures): Promise<void> {
  const { retriesMax } = turn.route.connection;
  if (fault.code === 'provider_rate_limited') {
    const attempt = failures.rateLimits;
    failures.rateLimits += 1;
    const waitMs = fault.retryAfterMs ?? RATE_LIMIT_WAITS_MS[attempt];
    if (waitMs === undefined || attempt >= RATE_LIMIT_WAITS_MS.length || waitMs > RETRY_AFTER_MAX_MS)
      throw fault;
    const of = `${attempt + 1}/${RATE_LIMIT_WAITS_MS.length}`;
    turn.say('status', {
      phase: 'thinking',
      label: `Rate-limited by the provider — retrying in ${Math.ceil(waitMs / 1000)}s (${of})…`,
    });
    await pause(turn, waitMs);
    return;
  }
  const attempt = failures.others;
  failures.others += 1;
  if (!fault.retryable || attempt >= retriesMax) throw fault;
  turn.say('status', {
    phase: 'thinking',
    label: `The provider did not answer — trying again (${attempt + 1}/${retriesMax})…`,
    detail: errorText(fault),
  });
  await pause(turn, RETRY_BACKOFF_MS * 2 ** attempt);
}

function reportHealth({ context, route }: RoutedTurn, fault: Fault): void {
  if (isRefusal(fault) || NOT_ITS_HEALTH.has(fault.code)) return;
  const { provider, baseUrl } = route.connection;
  context.tell(providers, 'met', {
    provider,
    baseUrl,
    healthy: false,
    error: fault.message,
    retryAfterMs: fault.retryAfterMs,
  });
}
