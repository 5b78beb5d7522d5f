// Resumption: what becomes of a run whose actor is gone, and what a new one goes on from. Pure: what was journaled decides.
// N1 A run is between steps when nothing stands behind its last step but what changes nothing when it is said once more:
//    statuses, infos, steers and `start`. Only such a run is resumed.
// N2 A tool call is journaled before it is made (tool-round.ts), so one that may have been made is never made again.
// N3 A run that a stop of the service left in good order has harmed nobody: taking it up again is not counted.

import type { ModelMessage } from '../providers/protocol.ts';
import { isQuiet, type JournaledEvent, type RunEvents } from './events.ts';
import { RESUMES_MAX, type Steer } from './protocol.ts';
import { LOOP_BEGINS, type LoopState, type RunStep } from './steps.ts';
import type { RunRecord } from './store.ts';
import type { TranscriptGain } from './transcript.ts';
import type { UsageCounts } from './usage.ts';

export interface LostRunFacts {
  readonly record: Pick<RunRecord, 'origin' | 'resumes' | 'request' | 'isCancelled'>;
  /** The events behind the last step; all of them when there is none. */
  readonly behind: readonly JournaledEvent[];
  /** The setting `runs.resume_on_boot`. */
  readonly isResumeAllowed: boolean;
  /** Earlier turns of conversations that are not stored went with whoever ran the run. */
  readonly isMemoryLost: boolean;
  /** Its rows are in the conversation: it was about to say how it ended. */
  readonly isStored: boolean;
}

export type Fate =
  | { readonly kind: 'resumed' /** N3. */; readonly isCounted: boolean }
  /** Its journal says how it ended. */
  | { readonly kind: 'finished' }
  | { readonly kind: 'cancelled' }
  /** `why` goes on behind a sentence like "The service was restarted". */
  | { readonly kind: 'settled'; readonly why: string };

export function fateOf({ record, behind, isResumeAllowed, isMemoryLost, isStored }: LostRunFacts): Fate {
  const said = (name: keyof RunEvents): number => behind.filter(([event]) => event === name).length;
  if (said('done') + said('error') + said('close') > 0) return { kind: 'finished' };
  if (record.isCancelled) return { kind: 'cancelled' };
  if (said('tool_call') > said('tool_result')) {
    return { kind: 'settled', why: ' while a tool call was in flight, which is not repeated' };
  }
  if (!behind.every(isQuiet)) return { kind: 'settled', why: ' while the answer was under way' };
  if (isStored) return { kind: 'settled', why: ' while the end of the answer was being saved' };
  if (record.origin === 'chat') return { kind: 'settled', why: '; a blocking chat is not resumed' };
  if (!isResumeAllowed) return { kind: 'settled', why: ', and runs.resume_on_boot is off' };
  if (isMemoryLost && record.request.use_memory === false && record.request.session_id) {
    return { kind: 'settled', why: ', and with it the conversation, which was not to be stored' };
  }
  if (record.resumes >= RESUMES_MAX) {
    return { kind: 'settled', why: `; it had been resumed ${record.resumes} times before` };
  }
  return { kind: 'resumed', isCounted: !wasLeftInOrder(behind) };
}

/** The steers behind the last step: accepted, and not folded in yet. Journals know no times, so they count as of `atMs`. */
export function pendingSteers(behind: readonly JournaledEvent[], atMs: number): readonly Steer[] {
  return payloadsOf(behind, 'steer').map(({ id, message }) => ({ id, message, atMs }));
}

/** What a run goes on from. */
export interface Resumption {
  /** False for a run that has only waited so far. */
  readonly hasBegun: boolean;
  /** What `start` said; null when it was not said yet. */
  readonly started: { readonly taskId: string; readonly modelId: string } | null;
  /** The model to keep to, as `provider:model`; null when none is known. */
  readonly model: string | null;
  /** When the turn began, in milliseconds since 1970; null before its first step. */
  readonly startedAtMs: number | null;
  /** What the prompt gained since the turn began. */
  readonly messages: readonly ModelMessage[];
  readonly transcript: readonly TranscriptGain[];
  readonly usage: UsageCounts | null;
  readonly loop: LoopState;
}

/** Of a run that begins for the first time. */
export const FRESH: Resumption = {
  hasBegun: false,
  started: null,
  model: null,
  startedAtMs: null,
  messages: [],
  transcript: [],
  usage: null,
  loop: LOOP_BEGINS,
};

export function resumptionOf(steps: readonly RunStep[], behind: readonly JournaledEvent[]): Resumption {
  const last = steps.at(-1);
  if (last === undefined) {
    const start = payloadsOf(behind, 'start').at(-1);
    const fallback = payloadsOf(behind, 'status').findLast(({ phase }) => phase === 'model_fallback');
    return {
      ...FRESH,
      hasBegun: behind.some((event) => event[0] !== 'steer' && phaseOf(event) !== 'queued'),
      started: start === undefined ? null : { taskId: start.task_id, modelId: start.model },
      model: fallback?.detail ?? null,
    };
  }
  return {
    hasBegun: true,
    started: { taskId: last.taskId, modelId: last.model.slice(last.model.indexOf(':') + 1) },
    model: last.model,
    startedAtMs: last.startedAtMs,
    messages: steps.flatMap(({ messages }) => messages),
    transcript: steps.map(({ transcript }) => transcript),
    usage: last.usage,
    loop: last.loop,
  };
}

/** N3. A steer may have come after it. */
function wasLeftInOrder(behind: readonly JournaledEvent[]): boolean {
  const last = behind.findLast(([event]) => event !== 'steer');
  return last !== undefined && phaseOf(last) === 'suspended';
}

function phaseOf([event, data]: JournaledEvent): RunEvents['status']['phase'] | null {
  return event === 'status' ? (JSON.parse(data) as RunEvents['status']).phase : null;
}

function payloadsOf<Name extends keyof RunEvents>(
  events: readonly JournaledEvent[],
  name: Name,
): readonly RunEvents[Name][] {
  return events.filter(([event]) => event === name).map(([, data]) => JSON.parse(data) as RunEvents[Name]);
}
