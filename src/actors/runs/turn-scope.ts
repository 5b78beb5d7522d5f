// TurnScope: what every step of a turn works with.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import type { completions, ModelRoute, Sampling } from '../providers/protocol.ts';
import type { Say } from './events.ts';
import type { OfferedTools } from './offered-tools.ts';
import type { RunOrder } from './protocol.ts';
import type { Resumption } from './resumption.ts';
import type { RunJournal } from './run-journal.ts';
import type { Steering } from './steering.ts';
import type { StepLog } from './steps.ts';
import type { Transcript } from './transcript.ts';
import type { TurnBudget } from './turn-budget.ts';
import type { TurnMedia } from './turn-media.ts';
import type { UsageTotals } from './usage.ts';

export interface TurnScope {
  readonly context: ActorContext;
  readonly order: RunOrder;
  /** What an earlier life of this run left. */
  readonly resumption: Resumption;
  readonly taskId: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The same moment on the monotonic clock: durations do not jump with the wall clock. */
  readonly startedMonotonicMs: number;
  readonly journal: RunJournal;
  readonly say: Say;
  readonly steps: StepLog;
  readonly steering: Steering;
  readonly transcript: Transcript;
  readonly usage: UsageTotals;
  readonly completions: Ref<typeof completions>;
  readonly offeredTools: OfferedTools;
  /** Aborted by a cancel, and when the service stops; its reason says which. */
  readonly signal: AbortSignal;
}

/** The scope once the model is known. */
export interface RoutedTurn extends TurnScope {
  /** Another one from the moment on when its provider fails for good (model-call.ts). */
  route: ModelRoute;
  readonly sampling: Sampling;
  readonly budget: TurnBudget;
  readonly media: TurnMedia;
}

/** The model that the turn is to have; null when nobody has said. */
export function wantedModel({ order, resumption }: TurnScope): string | null {
  return resumption.model ?? order.request.model ?? null;
}

/** Thrown by a step that found the turn cancelled. */
export class TurnStopped extends Error {
  constructor() {
    super('the turn was stopped');
    this.name = 'TurnStopped';
  }
}

/** Waits, visibly to nobody else. @throws TurnStopped as soon as the turn is. */
export function pause({ context, signal }: TurnScope, delayMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new TurnStopped());
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(new TurnStopped());
    };
    const timer = context.clock.startTimer(delayMs, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

export function checkNotStopped({ signal }: TurnScope): void {
  if (signal.aborted) throw new TurnStopped();
}

/** Adds a remark of our own to the answer; a thought in which the model stopped does not swallow it. */
export function addNote({ say, transcript }: TurnScope, note: string): void {
  const content = transcript.closing + note;
  transcript.goOn();
  transcript.wrote(content);
  say('chunk', { content });
}
